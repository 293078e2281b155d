"""The Mixtral network: the shared decoder with experts in every block."""

from mf_models.families.mixtral.config import MixtralConfig
from mf_models.families.mixtral.decoder import decoder_config
from mf_models.layers.causal_lm import CausalLanguageModel


class MixtralForCausalLM(CausalLanguageModel):
    """Mistral's decoder with the two best of several experts for each token.

    Source: Jiang et al. 2024, Mixtral of Experts, section 2.
    """

    def __init__(self, config: MixtralConfig):
        super().__init__(decoder_config(config))
