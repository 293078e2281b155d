"""The Qwen2-MoE network: the shared decoder with routed experts and one that every token goes to."""

from mf_models.families.qwen2_moe.config import Qwen2MoeConfig
from mf_models.families.qwen2_moe.decoder import decoder_config
from mf_models.layers.causal_lm import CausalLanguageModel


class Qwen2MoeForCausalLM(CausalLanguageModel):
    """Qwen2's decoder with experts.

    Source: Yang et al. 2024, Qwen2 Technical Report, section 2.2.2.
    """

    def __init__(self, config: Qwen2MoeConfig):
        super().__init__(decoder_config(config))
