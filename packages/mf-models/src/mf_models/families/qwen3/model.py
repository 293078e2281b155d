"""The Qwen3 network: the shared decoder with normed queries and keys."""

from mf_models.families.qwen3.config import Qwen3Config
from mf_models.families.qwen3.decoder import decoder_config
from mf_models.layers.causal_lm import CausalLanguageModel


class Qwen3ForCausalLM(CausalLanguageModel):
    """Llama's decoder with a norm over each query and key head.

    Source: Qwen Team 2025, Qwen3 Technical Report, section 2.
    """

    def __init__(self, config: Qwen3Config):
        super().__init__(decoder_config(config))
