"""The sizes and kinds of Phi-3's decoder; imports no MindSpore."""

from mf_models.families.phi3.config import Phi3Config
from mf_models.layers.config import DecoderConfig


def decoder_config(config: Phi3Config) -> DecoderConfig:
    """The decoder that a configuration describes."""
    return DecoderConfig.of(config, windows=(config.sliding_window,))
