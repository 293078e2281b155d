"""The sizes and kinds of InternLM's decoder; imports no MindSpore."""

from mf_models.families.internlm.config import InternLMConfig
from mf_models.layers.config import DecoderConfig


def decoder_config(config: InternLMConfig) -> DecoderConfig:
    """The decoder that a configuration describes."""
    return DecoderConfig.of(config, qkv_bias=config.has_bias, output_bias=config.has_bias)
