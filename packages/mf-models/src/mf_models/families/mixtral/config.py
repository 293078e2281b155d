"""Sizes and settings of the Mixtral family; imports no MindSpore."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component
from mf_models.config_keys.classes import CLASSIFIER
from mf_models.config_keys.experts import ExpertKeys
from mf_models.config_keys.heads import HeadWidthKeys, UnbiasedKeys, WindowKeys
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import decoder_to_hf, head_width, read_decoder, require_model_type
from mf_models.hf_experts import experts_to_hf, read_experts


@component("model", "MixtralConfig")
@dataclass(frozen=True, slots=True, kw_only=True)
class MixtralConfig(WindowKeys, UnbiasedKeys, HeadWidthKeys, ExpertKeys, HfReadable):
    """Mixtral 8x7B and 8x22B; intermediate_size is the inner width of an expert."""

    architectures: ClassVar[tuple[str, ...]] = ("MixtralForCausalLM", f"Mixtral{CLASSIFIER}")
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("mixtral",)

    def expert_problems(self) -> Iterator[tuple[str, str, str]]:
        """As for all experts, and what a config.json of this family can't say."""
        yield from ExpertKeys.expert_problems(self)
        yield from self.only(norm_topk_prob=True, topk_method="greedy", routed_scaling_factor=1.0, shared_expert_num=0)

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`."""
        require_model_type(hf, cls.hf_model_types)
        hf.require("router_jitter_noise", (0.0,), absent=0.0)
        keys = read_decoder(hf, epsilon=1e-5)
        return cls(
            **keys,
            **head_width(hf, keys),
            sliding_window=hf.optional_count("sliding_window"),
            moe_config=read_experts(hf, ("num_experts", "num_local_experts"), aux_factor=0.001),
        )

    def to_hf(self) -> dict[str, Any]:
        """The configuration as Hugging Face tools read it, with the key spellings that all versions know."""
        return (
            decoder_to_hf(self, self.architectures[0], "mixtral")
            | experts_to_hf(self.moe_config, "num_local_experts")
            | {"router_jitter_noise": 0.0, "sliding_window": self.sliding_window}
        )
