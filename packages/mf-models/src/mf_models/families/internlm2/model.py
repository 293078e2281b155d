"""The InternLM2 network: the shared decoder in InternLM2's sizes."""

from mf_models.families.internlm2.config import InternLM2Config
from mf_models.families.internlm2.decoder import decoder_config
from mf_models.layers.causal_lm import CausalLanguageModel


class InternLM2ForCausalLM(CausalLanguageModel):
    """Llama's decoder.

    Source: Cai et al. 2024, InternLM2 Technical Report, section 2.2.
    """

    def __init__(self, config: InternLM2Config):
        super().__init__(decoder_config(config))
