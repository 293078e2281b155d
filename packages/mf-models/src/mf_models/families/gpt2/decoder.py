"""The sizes and kinds of GPT-2's decoder; imports no MindSpore."""

from mf_models.families.gpt2.config import LAYER_NORM_EPSILON, GPT2Config
from mf_models.layers.config import DecoderConfig


def decoder_config(config: GPT2Config) -> DecoderConfig:
    """The decoder that a configuration describes."""
    return DecoderConfig(
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
        feed_forward=config.hidden_act,
        qkv_bias=True,
        output_bias=True,
        learned_positions=config.seq_length,
        embedding_dropout=config.embedding_dropout_prob,
        hidden_dropout=config.hidden_dropout_rate,
        attention_dropout=config.attention_dropout_rate,
        num_labels=config.num_labels,
    )
