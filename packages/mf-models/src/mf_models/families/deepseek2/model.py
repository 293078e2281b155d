"""The DeepSeek-V2 network: the shared decoder with latent attention and experts."""

from mf_models.families.deepseek2.config import DeepseekV2Config
from mf_models.families.deepseek2.decoder import decoder_config
from mf_models.layers.causal_lm import CausalLanguageModel


class DeepseekV2ForCausalLM(CausalLanguageModel):
    """A decoder whose keys and values come from narrow latents, and whose tokens choose experts of few groups.

    Source: DeepSeek-AI 2024, DeepSeek-V2, section 2, and the code published with it.
    """

    def __init__(self, config: DeepseekV2Config):
        super().__init__(decoder_config(config))
