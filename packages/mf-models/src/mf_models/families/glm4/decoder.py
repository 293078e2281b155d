"""The sizes and kinds of GLM-4-0414's decoder; imports no MindSpore."""

from mf_models.families.glm4.config import Glm4Config
from mf_models.layers.config import DecoderConfig
from mf_models.layers.frequencies import Rotary


def decoder_config(config: Glm4Config) -> DecoderConfig:
    """The decoder that a configuration describes."""
    rotary = Rotary.of(config, config.rotary_dim)
    return DecoderConfig.of(config, rotary=rotary, post_norms=True)
