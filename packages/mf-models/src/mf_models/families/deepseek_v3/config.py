"""Sizes and settings of DeepSeek-V3 (671B) and models of the same kind; imports no MindSpore.

Source of the sizes: DeepSeek-AI 2024, DeepSeek-V3, section 4.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component, key
from mf_config.sections.moe import MoeSection
from mf_models.config_keys.again import again
from mf_models.config_keys.dropless import dropless
from mf_models.config_keys.execution import NO_CHOICE
from mf_models.config_keys.latent import LatentExpertKeys
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import require_model_type
from mf_models.hf_deepseek import latent_decoder_to_hf, read_grouped_experts, read_latent_decoder

_HF_ALWAYS = {"scoring_func": "sigmoid", "topk_method": "noaux_tc"}
"""What config.json files of this family can't have otherwise."""


@component("model", "DeepseekV3Config")
@dataclass(frozen=True, slots=True, kw_only=True)
class DeepseekV3Config(LatentExpertKeys, HfReadable):
    """DeepSeek-V3, R1, Moonlight and Kimi K2; intermediate_size is the inner width of blocks without experts.

    Experts have sigmoid scores, and a correction of the choice that training steps don't change by gradients.
    """

    architectures: ClassVar[tuple[str, ...]] = ("DeepseekV3ForCausalLM",)
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("deepseek_v3",)

    mtp_depth: int = key("Tokens beyond the next one that are predicted too, in training only.", 0, minimum=0)
    mtp_loss_factor: float = key("Weight of the mean loss of these tokens beside that of the next one.", 0.3, minimum=0)
    return_extra_loss: bool = key("Add the losses of the experts.", True, inert="moe_config says which are added")
    input_sliced_sig: bool = key(
        "Whether rows come without the id behind the last input.", False, inert="inputs and labels always come apart"
    )
    use_fused_rope: bool = key("Rotate in one fused operator.", False, inert=NO_CHOICE)
    use_fused_swiglu: bool = key("Gated activation in one fused operator.", False, inert=NO_CHOICE)

    moe_config: MoeSection = again(
        LatentExpertKeys,
        "moe_config",
        dropless(
            expert_num=256,
            num_experts_chosen=8,
            moe_intermediate_size=2048,
            shared_expert_num=1,
            first_k_dense_replace=3,
            topk_method="group_limited_greedy",
            n_group=8,
            topk_group=4,
            routed_scaling_factor=2.5,
        ),
    )
    intermediate_size: int | None = again(LatentExpertKeys, "intermediate_size", 18432)
    vocab_size: int = again(LatentExpertKeys, "vocab_size", 129280)
    max_position_embeddings: int | None = again(LatentExpertKeys, "max_position_embeddings", 32768)
    initializer_range: float = again(LatentExpertKeys, "initializer_range", 0.006)
    compute_dtype: str = again(LatentExpertKeys, "compute_dtype", "bfloat16")
    param_init_type: str = again(LatentExpertKeys, "param_init_type", "bfloat16")

    @property
    def prediction_layers(self) -> range:
        """Numbers of the blocks that predict further tokens: they go on from those of the decoder."""
        return range(self.num_layers, self.num_layers + self.mtp_depth)

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`."""
        require_model_type(hf, cls.hf_model_types)
        for name, value in _HF_ALWAYS.items():
            hf.require(name, (value,), absent=value)
        return cls(
            **read_latent_decoder(hf),
            mtp_depth=hf.whole("num_nextn_predict_layers", 0),
            mtp_loss_factor=hf.number("mtp_loss_factor", 0.3),
            moe_config=read_grouped_experts(hf, grouped=True, normalized=True),
        )

    def to_hf(self) -> dict[str, Any]:
        """The configuration as Hugging Face tools read it, with the key spellings that all versions know."""
        return latent_decoder_to_hf(self, self.architectures[0], "deepseek_v3") | {
            **_HF_ALWAYS,
            "mtp_loss_factor": self.mtp_loss_factor,
            "num_nextn_predict_layers": self.mtp_depth,
        }
