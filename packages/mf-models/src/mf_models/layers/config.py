"""Sizes of a decoder, as the cells take them; imports no MindSpore."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderConfig:
    """A pre-norm decoder with grouped attention and a gated feed-forward.

    Attributes:
        vocab_size: rows of the embedding and of the head.
        hidden_size: width of the residual stream.
        num_layers: blocks.
        num_heads: query heads.
        num_kv_heads: key/value heads; divides num_heads.
        head_dim: width of a head, even.
        intermediate_size: inner width of the feed-forward.
        norm_epsilon: added to the mean square in each norm.
        rope_theta: base of the rotary frequencies.
        tie_word_embeddings: whether the head uses the embedding's weight.
        initializer_range: standard deviation of new matrices.
    """

    vocab_size: int
    hidden_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    intermediate_size: int
    norm_epsilon: float
    rope_theta: float
    tie_word_embeddings: bool
    initializer_range: float
