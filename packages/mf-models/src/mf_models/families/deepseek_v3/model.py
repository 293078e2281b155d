"""The DeepSeek-V3 network: the shared decoder with latent attention, experts and blocks for further tokens."""

from mf_models.families.deepseek_v3.config import DeepseekV3Config
from mf_models.families.deepseek_v3.decoder import decoder_config
from mf_models.layers.prediction import PredictingLanguageModel


class DeepseekV3ForCausalLM(PredictingLanguageModel):
    """DeepSeek-V2's decoder whose experts have sigmoid scores, and groups the sum of their two best.

    Source: DeepSeek-AI 2024, DeepSeek-V3, section 2, and the code published with it.
    """

    def __init__(self, config: DeepseekV3Config):
        super().__init__(decoder_config(config))
