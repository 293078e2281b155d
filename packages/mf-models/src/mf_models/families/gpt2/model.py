"""The GPT-2 network: the shared decoder with learned positions, layer norms and biases."""

from mf_models.families.gpt2.config import LAYER_NORM_EPSILON, GPT2Config
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.layers.config import DecoderConfig


class GPT2LMHeadModel(CausalLanguageModel):
    """Pre-norm decoder with learned positions and GELU.

    Source: Radford et al. 2019, Language Models are Unsupervised Multitask Learners, section 2.3.
    """

    def __init__(self, config: GPT2Config):
        super().__init__(
            DecoderConfig(
                vocab_size=config.vocab_size,
                hidden_size=config.hidden_size,
                num_layers=config.num_layers,
                num_heads=config.num_heads,
                num_kv_heads=config.num_heads,
                head_dim=config.head_dim,
                intermediate_size=config.inner_size,
                norm_epsilon=LAYER_NORM_EPSILON,
                rotary=None,
                tie_word_embeddings=True,
                initializer_range=config.initializer_range,
                norm="layer",
                feed_forward="gelu",
                qkv_bias=True,
                output_bias=True,
                learned_positions=config.seq_length,
            )
        )
