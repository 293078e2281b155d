"""The Mistral network: the shared decoder with a window in every block."""

from mf_models.families.mistral.config import MistralConfig
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.layers.config import DecoderConfig


class MistralForCausalLM(CausalLanguageModel):
    """Llama's decoder whose queries see the last tokens only.

    Source: Jiang et al. 2023, Mistral 7B, section 2.
    """

    def __init__(self, config: MistralConfig):
        super().__init__(DecoderConfig.of(config, windows=(config.sliding_window,)))
