"""The sizes and kinds of InternLM2's decoder; imports no MindSpore."""

from mf_models.families.internlm2.config import InternLM2Config
from mf_models.layers.config import DecoderConfig


def decoder_config(config: InternLM2Config) -> DecoderConfig:
    """The decoder that a configuration describes."""
    return DecoderConfig.of(config)
