"""The Gemma 2 network: the shared decoder with caps, four norms a block and a window in every other block."""

from mf_models.families.gemma2.config import Gemma2Config
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.layers.config import DecoderConfig


class Gemma2ForCausalLM(CausalLanguageModel):
    """A decoder with capped scores and logits, GELU gates and norms that start at 1.

    Source: Gemma Team 2024, Gemma 2, section 2, and the code published with it.
    """

    def __init__(self, config: Gemma2Config):
        super().__init__(
            DecoderConfig.of(
                config,
                norm="shifted_rms",
                feed_forward="geglu",
                post_norms=True,
                windows=config.windows,
                attention_scale=config.query_pre_attn_scalar**-0.5,
                attention_cap=config.attn_logit_softcapping,
                logit_cap=config.final_logit_softcapping,
                embedding_scale=config.hidden_size**0.5,
            )
        )
