"""The sizes and kinds of Qwen3-MoE's decoder; imports no MindSpore."""

from mf_models.families.qwen3_moe.config import Qwen3MoeConfig
from mf_models.layers.config import DecoderConfig
from mf_models.layers.moe_config import MoeConfig


def decoder_config(config: Qwen3MoeConfig) -> DecoderConfig:
    """The decoder that a configuration describes."""
    moe = MoeConfig.of(
        config.moe_config,
        expert_size=config.moe_config.moe_intermediate_size,
        dense_layers=config.dense_layers,
    )
    return DecoderConfig.of(config, query_key_norm=True, moe=moe)
