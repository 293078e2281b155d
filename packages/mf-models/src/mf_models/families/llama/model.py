"""The Llama network: the shared decoder in Llama's sizes."""

from mf_models.families.llama.config import LlamaConfig
from mf_models.families.llama.decoder import decoder_config
from mf_models.layers.causal_lm import CausalLanguageModel


class LlamaForCausalLM(CausalLanguageModel):
    """Pre-norm decoder with rotary grouped-query attention and SwiGLU.

    Source: Touvron et al. 2023, LLaMA; Grattafiori et al. 2024, The Llama 3 Herd of Models, section 3.2.
    """

    def __init__(self, config: LlamaConfig):
        super().__init__(decoder_config(config))
