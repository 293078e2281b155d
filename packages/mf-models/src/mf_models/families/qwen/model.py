"""The network of Qwen's first generation: the shared decoder, read beyond the length of its training."""

from mf_models.families.qwen.config import QwenConfig
from mf_models.families.qwen.decoder import decoder_config
from mf_models.layers.causal_lm import CausalLanguageModel


class QwenForCausalLM(CausalLanguageModel):
    """Llama's decoder with biased query, key and value projections.

    The code published with the model scales longer texts in inference only; here training scales them too, and texts
    up to `seq_length` are the same either way.
    Source: Bai et al. 2023, Qwen Technical Report, sections 2.3 and 2.4.
    """

    def __init__(self, config: QwenConfig):
        super().__init__(decoder_config(config))
