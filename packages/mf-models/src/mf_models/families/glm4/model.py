"""The GLM-4-0414 network: the shared decoder with partly rotated heads and four norms a block."""

from mf_models.families.glm4.config import Glm4Config
from mf_models.families.glm4.decoder import decoder_config
from mf_models.layers.causal_lm import CausalLanguageModel


class Glm4ForCausalLM(CausalLanguageModel):
    """A decoder that norms what goes into and comes out of attention and feed-forward.

    Source: GLM Team 2024, ChatGLM: A Family of Large Language Models, section 2, and the code published with 0414.
    """

    def __init__(self, config: Glm4Config):
        super().__init__(decoder_config(config))
