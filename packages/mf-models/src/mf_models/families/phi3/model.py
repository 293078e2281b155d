"""The Phi-3 network: the shared decoder with a window in every block."""

from mf_models.families.phi3.config import Phi3Config
from mf_models.families.phi3.decoder import decoder_config
from mf_models.layers.causal_lm import CausalLanguageModel


class Phi3ForCausalLM(CausalLanguageModel):
    """Llama's decoder whose queries see the last tokens only.

    Source: Abdin et al. 2024, Phi-3 Technical Report, section 2.
    """

    def __init__(self, config: Phi3Config):
        super().__init__(decoder_config(config))
