"""Sizes and settings of the Qwen2-MoE family; imports no MindSpore."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component, key
from mf_config.sections.moe import MoeSection
from mf_models.config_keys.again import again
from mf_models.config_keys.classes import CLASSIFIER
from mf_models.config_keys.dropless import dropless
from mf_models.config_keys.experts import ExpertKeys, SparseLayerKeys
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import decoder_to_hf, read_decoder, require_full_attention, require_model_type
from mf_models.hf_experts import experts_to_hf, read_experts


@component("model", "Qwen2MoeConfig")
@dataclass(frozen=True, slots=True, kw_only=True)
class Qwen2MoeConfig(SparseLayerKeys, HfReadable):
    """Qwen1.5-MoE-A2.7B and Qwen2-57B-A14B; intermediate_size is the inner width of blocks without experts."""

    architectures: ClassVar[tuple[str, ...]] = ("Qwen2MoeForCausalLM", f"Qwen2Moe{CLASSIFIER}")
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("qwen2_moe",)

    shared_expert_intermediate_size: int | None = key(
        "Inner width of the shared expert; shared_expert_num times that of a routed one where not given.",
        None,
        minimum=1,
    )
    moe_config: MoeSection = again(
        ExpertKeys,
        "moe_config",
        dropless(
            expert_num=60,
            num_experts_chosen=4,
            moe_intermediate_size=1408,
            norm_topk_prob=False,
            shared_expert_num=4,
            use_shared_expert_gating=True,
        ),
    )
    qkv_has_bias: bool = again(ExpertKeys, "qkv_has_bias", True)
    rms_norm_eps: float = again(ExpertKeys, "rms_norm_eps", 1e-6)

    @property
    def shared_size(self) -> int:
        """Inner width of the shared expert."""
        moe = self.moe_config
        return self.shared_expert_intermediate_size or moe.shared_expert_num * moe.moe_intermediate_size

    def expert_problems(self) -> Iterator[tuple[str, str, str]]:
        """As for all experts, and what a config.json of this family can't say."""
        yield from ExpertKeys.expert_problems(self)
        yield from self.only(topk_method="greedy", routed_scaling_factor=1.0, use_shared_expert_gating=True)
        if not self.shared_size:
            yield "moe_config.shared_expert_num", "0 leaves no shared expert", "from 1"

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`."""
        require_model_type(hf, cls.hf_model_types)
        # The width and the first layer of a window are there even where no layer has one.
        hf.require("use_sliding_window", (False,), absent=False)
        hf.ignore(("sliding_window", "max_window_layers"))
        section = read_experts(
            hf,
            ("num_local_experts", "num_experts"),
            aux_factor=0.001,
            moe_intermediate_size=hf.count("moe_intermediate_size"),
            norm_topk_prob=hf.flag("norm_topk_prob", False),
            shared_expert_num=1,
            use_shared_expert_gating=True,
        )
        config = cls(
            **read_decoder(hf),
            qkv_has_bias=hf.flag("qkv_bias", True),
            mlp_only_layers=hf.places("mlp_only_layers"),
            decoder_sparse_step=hf.optional_count("decoder_sparse_step") or 1,
            shared_expert_intermediate_size=hf.count("shared_expert_intermediate_size"),
            moe_config=section,
        )
        hf.require("head_dim", (None, config.head_dim), absent=None)
        require_full_attention(hf, config.num_layers)
        return config

    def to_hf(self) -> dict[str, Any]:
        """The configuration as Hugging Face tools read it, with the key spellings that all versions know."""
        return (
            decoder_to_hf(self, self.architectures[0], "qwen2_moe")
            | experts_to_hf(self.moe_config, "num_experts")
            | self.sparse_layers_to_hf()
            | {
                "qkv_bias": self.qkv_has_bias,
                "shared_expert_intermediate_size": self.shared_size,
                "use_sliding_window": False,
            }
        )
