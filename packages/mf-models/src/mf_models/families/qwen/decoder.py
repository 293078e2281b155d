"""The sizes and kinds of Qwen's decoder; imports no MindSpore."""

from mf_models.families.qwen.config import QwenConfig
from mf_models.layers.config import DecoderConfig
from mf_models.layers.frequencies import Rotary


def decoder_config(config: QwenConfig) -> DecoderConfig:
    """The decoder that a configuration describes."""
    rotary = Rotary.of(config, config.head_dim)
    if config.use_dynamic_ntk:
        rotary = Rotary(
            dim=config.head_dim,
            theta=config.theta,
            method="STEPPED_NTK",
            original_positions=config.seq_length,
        )
    log_scaled_from = config.seq_length if config.use_logn_attn else 0
    return DecoderConfig.of(config, rotary=rotary, log_scaled_from=log_scaled_from)
