"""The Llama network: the shared decoder in Llama's sizes."""

from mf_models.families.llama.config import LlamaConfig
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.layers.config import DecoderConfig


class LlamaForCausalLM(CausalLanguageModel):
    """Pre-norm decoder with rotary grouped-query attention and SwiGLU.

    Source: Touvron et al. 2023, LLaMA; Grattafiori et al. 2024, The Llama 3 Herd of Models, section 3.2.
    """

    def __init__(self, config: LlamaConfig):
        super().__init__(
            DecoderConfig(
                vocab_size=config.vocab_size,
                hidden_size=config.hidden_size,
                num_layers=config.num_layers,
                num_heads=config.num_heads,
                num_kv_heads=config.num_kv_heads,
                head_dim=config.head_dim,
                intermediate_size=config.inner_size,
                norm_epsilon=config.rms_norm_eps,
                rope_theta=config.theta,
                tie_word_embeddings=config.tie_word_embeddings,
                initializer_range=config.initializer_range,
            )
        )
