"""The network of InternLM's first generation: the shared decoder with biased projections of attention."""

from mf_models.families.internlm.config import InternLMConfig
from mf_models.families.internlm.decoder import decoder_config
from mf_models.layers.causal_lm import CausalLanguageModel


class InternLMForCausalLM(CausalLanguageModel):
    """Llama's decoder with biases in the query, key, value and output projections.

    Source: InternLM Team 2023, InternLM: A Multilingual Language Model, and the code published with it.
    """

    def __init__(self, config: InternLMConfig):
        super().__init__(decoder_config(config))
