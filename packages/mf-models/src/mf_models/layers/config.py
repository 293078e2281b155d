"""Sizes and kinds of a decoder's parts, as the cells take them; imports no MindSpore."""

from dataclasses import dataclass
from typing import Any, Self

from mf_models.config_keys.decoder import DecoderKeys
from mf_models.layers.frequencies import Rotary
from mf_models.layers.latent_config import LatentConfig
from mf_models.layers.moe_config import MoeConfig

UNGATED = frozenset({"gelu", "fast_gelu", "relu"})
"""The kinds of feed-forward that have two matrices, with biases; the others have three without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderConfig:
    """A pre-norm decoder with grouped attention; what has a default here is as in Llama where it is not given.

    Attributes:
        vocab_size: rows of the embedding and of the head.
        hidden_size: width of the residual stream.
        num_layers: blocks.
        num_heads: query heads.
        num_kv_heads: key/value heads; divides num_heads.
        head_dim: width of a head.
        intermediate_size: inner width of the feed-forward.
        norm_epsilon: added to the mean square (or the variance) in each norm.
        rotary: the rotary positions; None where `learned_positions` counts.
        tie_word_embeddings: whether the head uses the embedding's weight.
        initializer_range: standard deviation of new matrices.
        norm: kind of all norms of the residual stream, a name in `layers.norm.NORMS`.
        feed_forward: kind of the feed-forward, a name in `layers.mlp.FEED_FORWARDS`.
        qkv_bias: whether the query, key and value projections have biases.
        output_bias: whether the attention's output projection has one.
        query_key_norm: whether each query and key head is normed before it is rotated.
        post_norms: whether the result of attention and of feed-forward is normed before it is added.
        windows: for each block the tokens that a query sees, itself among them, or None for all; blocks beyond the
            end of the tuple begin again at its start.
        attention_scale: factor of the scores; 1 / sqrt(head_dim) where None.
        attention_cap: bound that the scores approach, or None.
        logit_cap: bound that the logits approach, or None.
        embedding_scale: factor of the embedding.
        learned_positions: rows of the table of learned positions; 0 for none.
        alibi: whether positions are a penalty of distance.
        log_scaled_from: keys beyond which a query grows with the number of keys that it sees; 0 for never.
        normalized_head: whether each row of the head is divided by its length.
        embedding_dropout: share of elements that is dropped of what enters the first block, in training.
        hidden_dropout: share that is dropped of what attention and feed-forward add.
        attention_dropout: share of attention weights that is dropped.
        moe: experts in the place of the feed-forward, in all blocks but those that it names; None for none.
        latent: widths of latent attention, which head_dim and num_kv_heads don't speak of; None for grouped attention.
        num_labels: classes that the head scores; None where it scores the next token.
        further_tokens: tokens beyond the next one that a training step predicts too.
        further_factor: weight of their mean loss beside that of the next token.
    """

    vocab_size: int
    hidden_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    intermediate_size: int
    norm_epsilon: float
    rotary: Rotary | None
    tie_word_embeddings: bool
    initializer_range: float
    norm: str = "rms"
    feed_forward: str = "swiglu"
    qkv_bias: bool = False
    output_bias: bool = False
    query_key_norm: bool = False
    post_norms: bool = False
    windows: tuple[int | None, ...] = (None,)
    attention_scale: float | None = None
    attention_cap: float | None = None
    logit_cap: float | None = None
    embedding_scale: float = 1.0
    learned_positions: int = 0
    alibi: bool = False
    log_scaled_from: int = 0
    normalized_head: bool = False
    embedding_dropout: float = 0.0
    hidden_dropout: float = 0.0
    attention_dropout: float = 0.0
    moe: MoeConfig | None = None
    latent: LatentConfig | None = None
    num_labels: int | None = None
    further_tokens: int = 0
    further_factor: float = 0.0

    @classmethod
    def of(cls, keys: DecoderKeys, **options: Any) -> Self:
        """The decoder that the shared keys of a run file describe.

        Args:
            keys: a family's configuration.
            **options: the attributes in which the family differs from Llama.
        """
        given: dict[str, Any] = {"rotary": Rotary.of(keys, keys.head_dim), "qkv_bias": keys.qkv_has_bias} | options
        return cls(
            vocab_size=keys.vocab_size,
            hidden_size=keys.hidden_size,
            num_layers=keys.num_layers,
            num_heads=keys.num_heads,
            num_kv_heads=keys.num_kv_heads,
            head_dim=keys.head_dim,
            intermediate_size=keys.inner_size,
            norm_epsilon=keys.rms_norm_eps,
            tie_word_embeddings=keys.tie_word_embeddings,
            initializer_range=keys.initializer_range,
            num_labels=keys.num_labels,
            **given,
        )

    def window(self, layer: int) -> int | None:
        """The window of one block."""
        return self.windows[layer % len(self.windows)]

    def moe_of(self, layer: int) -> MoeConfig | None:
        """The experts of one block; None where it has an ordinary feed-forward."""
        return None if self.moe is None or layer in self.moe.dense_layers else self.moe

    @property
    def loss_names(self) -> tuple[str, ...]:
        """What a training step adds to the loss of the tokens: `layers.3.balance`, …, in the order of the blocks."""
        blocks = [(layer, self.moe_of(layer)) for layer in range(self.num_layers + self.further_tokens)]
        return tuple(f"layers.{layer}.{name}" for layer, moe in blocks if moe is not None for name in moe.loss_names)
