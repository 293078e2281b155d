"""The sizes and kinds of Qwen3's decoder; imports no MindSpore."""

from mf_models.families.qwen3.config import Qwen3Config
from mf_models.layers.config import DecoderConfig


def decoder_config(config: Qwen3Config) -> DecoderConfig:
    """The decoder that a configuration describes."""
    return DecoderConfig.of(config, query_key_norm=True)
