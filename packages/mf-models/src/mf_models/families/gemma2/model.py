"""The Gemma 2 network: the shared decoder with caps, four norms a block and a window in every other block."""

from mf_models.families.gemma2.config import Gemma2Config
from mf_models.families.gemma2.decoder import decoder_config
from mf_models.layers.causal_lm import CausalLanguageModel


class Gemma2ForCausalLM(CausalLanguageModel):
    """A decoder with capped scores and logits, GELU gates and norms that start at 1.

    Source: Gemma Team 2024, Gemma 2, section 2, and the code published with it.
    """

    def __init__(self, config: Gemma2Config):
        super().__init__(decoder_config(config))
