"""The sizes and kinds of Gemma 2's decoder; imports no MindSpore."""

from mf_models.families.gemma2.config import Gemma2Config
from mf_models.layers.config import DecoderConfig


def decoder_config(config: Gemma2Config) -> DecoderConfig:
    """The decoder that a configuration describes."""
    return DecoderConfig.of(
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
