"""The sizes and kinds of ChatGLM2's decoder; imports no MindSpore."""

from mf_models.families.chatglm2.config import ChatGLM2Config
from mf_models.layers.config import DecoderConfig
from mf_models.layers.frequencies import Rotary

_INITIALIZER_RANGE = 0.02
"""Hugging Face's default; MindFormers has no key for it."""


def decoder_config(config: ChatGLM2Config) -> DecoderConfig:
    """The decoder that a configuration describes."""
    return DecoderConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        num_layers=config.num_layers,
        num_heads=config.num_heads,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        intermediate_size=config.inner_size,
        norm_epsilon=config.layernorm_epsilon,
        rotary=Rotary(dim=config.rotary_dim, theta=config.theta),
        tie_word_embeddings=False,
        initializer_range=_INITIALIZER_RANGE,
        qkv_bias=config.add_qkv_bias,
        hidden_dropout=config.hidden_dropout,
        attention_dropout=config.attention_dropout,
    )
