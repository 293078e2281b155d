"""The Mistral network: the shared decoder with a window in every block."""

from mf_models.families.mistral.config import MistralConfig
from mf_models.families.mistral.decoder import decoder_config
from mf_models.layers.causal_lm import CausalLanguageModel


class MistralForCausalLM(CausalLanguageModel):
    """Llama's decoder whose queries see the last tokens only.

    Source: Jiang et al. 2023, Mistral 7B, section 2.
    """

    def __init__(self, config: MistralConfig):
        super().__init__(decoder_config(config))
