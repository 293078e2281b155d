"""The Sparrow network: the shared decoder with a bound on its logits."""

from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.layers.config import DecoderConfig
from sparrow.families.sparrow.config import SparrowConfig


class SparrowForCausalLM(CausalLanguageModel):
    """Llama's decoder whose logits approach a bound."""

    def __init__(self, config: SparrowConfig):
        super().__init__(DecoderConfig.of(config, logit_cap=config.chirp))
