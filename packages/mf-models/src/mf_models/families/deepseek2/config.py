"""Sizes and settings of DeepSeek-V2 (16B and 236B); imports no MindSpore.

Source of the sizes: DeepSeek-AI 2024, DeepSeek-V2, section 3.1.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component
from mf_config.sections.moe import MoeSection
from mf_models.config_keys.again import again
from mf_models.config_keys.dropless import dropless
from mf_models.config_keys.latent import LatentExpertKeys
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import require_model_type
from mf_models.hf_deepseek import latent_decoder_to_hf, read_grouped_experts, read_latent_decoder

_METHODS = ("greedy", "group_limited_greedy")


@component("model", "DeepseekV2Config")
@dataclass(frozen=True, slots=True, kw_only=True)
class DeepseekV2Config(LatentExpertKeys, HfReadable):
    """DeepSeek-V2, V2-Lite and V2.5; intermediate_size is the inner width of blocks without experts."""

    architectures: ClassVar[tuple[str, ...]] = ("DeepseekV2ForCausalLM",)
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("deepseek_v2",)

    moe_config: MoeSection = again(
        LatentExpertKeys,
        "moe_config",
        dropless(
            expert_num=160,
            num_experts_chosen=6,
            moe_intermediate_size=1536,
            shared_expert_num=2,
            topk_method="group_limited_greedy",
            n_group=8,
            topk_group=3,
            norm_topk_prob=False,
            routed_scaling_factor=16.0,
        ),
    )
    num_layers: int = again(LatentExpertKeys, "num_layers", 30)
    intermediate_size: int | None = again(LatentExpertKeys, "intermediate_size", 12288)
    vocab_size: int = again(LatentExpertKeys, "vocab_size", 102400)

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`."""
        require_model_type(hf, cls.hf_model_types)
        hf.require("scoring_func", ("softmax",), absent="softmax")
        grouped = hf.choice("topk_method", _METHODS, absent="greedy") == "group_limited_greedy"
        return cls(**read_latent_decoder(hf), moe_config=read_grouped_experts(hf, grouped=grouped, normalized=False))

    def to_hf(self) -> dict[str, Any]:
        """The configuration as Hugging Face tools read it, with the key spellings that all versions know."""
        return latent_decoder_to_hf(self, self.architectures[0], "deepseek_v2") | {
            "scoring_func": "softmax",
            "topk_method": self.moe_config.topk_method,
        }
