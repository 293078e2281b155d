"""The sizes and kinds of Mistral's decoder; imports no MindSpore."""

from mf_models.families.mistral.config import MistralConfig
from mf_models.layers.config import DecoderConfig


def decoder_config(config: MistralConfig) -> DecoderConfig:
    """The decoder that a configuration describes."""
    return DecoderConfig.of(config, windows=(config.sliding_window,))
