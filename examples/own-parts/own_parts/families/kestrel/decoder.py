"""The sizes and kinds of Kestrel's decoder; imports no MindSpore."""

from mf_models.layers.config import DecoderConfig
from own_parts.families.kestrel.config import KestrelConfig


def decoder_config(config: KestrelConfig) -> DecoderConfig:
    """The decoder that a configuration describes."""
    return DecoderConfig.of(config, feed_forward="geglu")
