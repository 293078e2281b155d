"""The GPT-2 network: the shared decoder with learned positions, layer norms and biases."""

from mf_models.families.gpt2.config import GPT2Config
from mf_models.families.gpt2.decoder import decoder_config
from mf_models.layers.causal_lm import CausalLanguageModel


class GPT2LMHeadModel(CausalLanguageModel):
    """Pre-norm decoder with learned positions and GELU.

    Source: Radford et al. 2019, Language Models are Unsupervised Multitask Learners, section 2.3.
    """

    def __init__(self, config: GPT2Config):
        super().__init__(decoder_config(config))
