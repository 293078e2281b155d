"""The network of Qwen3 with experts: the shared decoder with a norm for each query and key head."""

from mf_models.families.qwen3_moe.config import Qwen3MoeConfig
from mf_models.families.qwen3_moe.decoder import decoder_config
from mf_models.layers.causal_lm import CausalLanguageModel


class Qwen3MoeForCausalLM(CausalLanguageModel):
    """Qwen3's decoder with experts.

    Source: Qwen Team 2025, Qwen3 Technical Report, section 2.
    """

    def __init__(self, config: Qwen3MoeConfig):
        super().__init__(decoder_config(config))
