"""The sizes and kinds of Baichuan 2's decoder; imports no MindSpore."""

from mf_models.families.baichuan2.config import Baichuan2Config
from mf_models.layers.config import DecoderConfig


def decoder_config(config: Baichuan2Config) -> DecoderConfig:
    """The decoder that a configuration describes."""
    positions = {"rotary": None, "alibi": True} if config.alibi else {}
    return DecoderConfig.of(config, normalized_head=True, **positions)
