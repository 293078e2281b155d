"""Sizes and settings of the Qwen3 family with experts; imports no MindSpore."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component
from mf_config.sections.moe import MoeSection
from mf_models.config_keys.again import again
from mf_models.config_keys.classes import CLASSIFIER
from mf_models.config_keys.dropless import dropless
from mf_models.config_keys.experts import ExpertKeys, SparseLayerKeys
from mf_models.config_keys.heads import HeadWidthKeys, UnbiasedKeys
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import decoder_to_hf, read_decoder, require_full_attention, require_model_type
from mf_models.hf_experts import experts_to_hf, read_experts


@component("model", "Qwen3MoeConfig")
@dataclass(frozen=True, slots=True, kw_only=True)
class Qwen3MoeConfig(UnbiasedKeys, HeadWidthKeys, SparseLayerKeys, HfReadable):
    """Qwen3-30B-A3B and Qwen3-235B-A22B; intermediate_size is the inner width of blocks without experts."""

    architectures: ClassVar[tuple[str, ...]] = ("Qwen3MoeForCausalLM", f"Qwen3Moe{CLASSIFIER}")
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("qwen3_moe",)

    moe_config: MoeSection = again(
        ExpertKeys, "moe_config", dropless(expert_num=128, num_experts_chosen=8, moe_intermediate_size=768)
    )
    rms_norm_eps: float = again(HeadWidthKeys, "rms_norm_eps", 1e-6)

    def expert_problems(self) -> Iterator[tuple[str, str, str]]:
        """As for all experts, and what a config.json of this family can't say."""
        yield from ExpertKeys.expert_problems(self)
        yield from self.only(topk_method="greedy", routed_scaling_factor=1.0, shared_expert_num=0)

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`."""
        require_model_type(hf, cls.hf_model_types)
        hf.require("attention_bias", (False,), absent=False)
        # The width and the first layer of a window are there even where no layer has one.
        hf.require("use_sliding_window", (False,), absent=False)
        hf.ignore(("sliding_window", "max_window_layers"))
        section = read_experts(
            hf,
            ("num_local_experts", "num_experts"),
            aux_factor=0.001,
            moe_intermediate_size=hf.count("moe_intermediate_size"),
            norm_topk_prob=hf.flag("norm_topk_prob", False),
        )
        config = cls(
            **read_decoder(hf),
            kv_channels=hf.optional_count("head_dim"),
            mlp_only_layers=hf.places("mlp_only_layers"),
            decoder_sparse_step=hf.optional_count("decoder_sparse_step") or 1,
            moe_config=section,
        )
        require_full_attention(hf, config.num_layers)
        return config

    def to_hf(self) -> dict[str, Any]:
        """The configuration as Hugging Face tools read it, with the key spellings that all versions know."""
        return (
            decoder_to_hf(self, self.architectures[0], "qwen3_moe")
            | experts_to_hf(self.moe_config, "num_experts")
            | self.sparse_layers_to_hf()
            | {"attention_bias": False, "use_sliding_window": False}
        )
