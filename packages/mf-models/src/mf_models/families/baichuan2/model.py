"""The Baichuan 2 network: the shared decoder with a normalised head."""

from mf_models.families.baichuan2.config import Baichuan2Config
from mf_models.families.baichuan2.decoder import decoder_config
from mf_models.layers.causal_lm import CausalLanguageModel


class BaichuanForCausalLM(CausalLanguageModel):
    """Llama's decoder whose head has rows of length 1; the 13B has ALiBi instead of rotary positions.

    Source: Yang et al. 2023, Baichuan 2: Open Large-scale Language Models, sections 2.3 to 2.6.
    """

    def __init__(self, config: Baichuan2Config):
        super().__init__(decoder_config(config))
