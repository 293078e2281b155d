"""The Kestrel network: the shared decoder in Kestrel's sizes."""

from mf_models.layers.causal_lm import CausalLanguageModel
from own_parts.families.kestrel.config import KestrelConfig
from own_parts.families.kestrel.decoder import decoder_config


class KestrelForCausalLM(CausalLanguageModel):
    """Pre-norm decoder with rotary attention, and a feed-forward that is gated by GELU."""

    def __init__(self, config: KestrelConfig):
        super().__init__(decoder_config(config))
