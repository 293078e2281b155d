"""The sizes and kinds of Mixtral's decoder; imports no MindSpore."""

from mf_models.families.mixtral.config import MixtralConfig
from mf_models.layers.config import DecoderConfig
from mf_models.layers.moe_config import MoeConfig


def decoder_config(config: MixtralConfig) -> DecoderConfig:
    """The decoder that a configuration describes."""
    moe = MoeConfig.of(config.moe_config, expert_size=config.inner_size)
    return DecoderConfig.of(config, windows=(config.sliding_window,), moe=moe)
