"""The sizes and kinds of Llama's decoder; imports no MindSpore."""

from mf_models.families.llama.config import LlamaConfig
from mf_models.layers.config import DecoderConfig


def decoder_config(config: LlamaConfig) -> DecoderConfig:
    """The decoder that a configuration describes."""
    return DecoderConfig.of(config)
