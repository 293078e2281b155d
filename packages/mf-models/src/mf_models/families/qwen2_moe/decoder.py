"""The sizes and kinds of Qwen2-MoE's decoder; imports no MindSpore."""

from mf_models.families.qwen2_moe.config import Qwen2MoeConfig
from mf_models.layers.config import DecoderConfig
from mf_models.layers.moe_config import MoeConfig


def decoder_config(config: Qwen2MoeConfig) -> DecoderConfig:
    """The decoder that a configuration describes."""
    moe = MoeConfig.of(
        config.moe_config,
        expert_size=config.moe_config.moe_intermediate_size,
        shared_size=config.shared_size,
        dense_layers=config.dense_layers,
    )
    return DecoderConfig.of(config, moe=moe)
