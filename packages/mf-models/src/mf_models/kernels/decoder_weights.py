"""What a fused decoder is made of: the weights and kinds that the layers of a network hand to it.

Legend: D model dim, F rows of a matrix, H head dim, C = rotated part of H / 2, V vocabulary.
"""

from dataclasses import dataclass

from mindspore import Tensor


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Matrix:
    """Weights of a projection.

    Attributes:
        weight_FD: [F, D] float32; or [F, blocks, 32] int8, whose last block is filled up.
        columns: D.
        scale: [F, blocks] float16, the factor of each block of integers; None where the weights are floats.
        offset: [F, blocks] float16, what is added to each product of integer and scale; None for nothing.
        bias_F: [F] float32, or None.
    """

    weight_FD: Tensor
    columns: int
    scale: Tensor | None = None
    offset: Tensor | None = None
    bias_F: Tensor | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockWeights:
    """One block of the network, and its part of the cache; a norm that it does not have is None.

    Attributes:
        keys: the block's keys in a cache, in the layout that `CacheSteps` describes.
        values: likewise.
        window: how many keys a query sees at most, its own among them; None for all.
    """

    query: Matrix
    key: Matrix
    value: Matrix
    output: Matrix
    gate: Matrix
    up: Matrix
    down: Matrix
    attention_norm: Tensor
    ffn_norm: Tensor
    query_norm: Tensor | None
    key_norm: Tensor | None
    attention_post_norm: Tensor | None
    ffn_post_norm: Tensor | None
    keys: Tensor
    values: Tensor
    window: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSteps:
    """Where the cache has a row of one head: distances in elements.

    Attributes:
        block_tokens: tokens of a block.
        block: from a block to the next.
        head: from a head to the next.
        token: from a token to the next.
    """

    block_tokens: int
    block: int
    head: int
    token: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecoderWeights:
    """A whole network.

    Attributes:
        embedding_VD: [V, D] float32.
        embedding_scale: its factor.
        blocks: in order.
        last_norm: [D] float32.
        head: V rows.
        frequencies_C: [C] float32, radians a position.
        amplitude: factor of the cosines and sines.
        head_dim: H.
        gated_by: `swiglu` or `geglu`.
        epsilon: of all norms.
        score_scale: factor of the scores.
        score_cap: bound that the scores approach, or None.
        logit_cap: bound that the logits approach, or None.
        cache: layout of the blocks' keys and values.
    """

    embedding_VD: Tensor
    embedding_scale: float
    blocks: tuple[BlockWeights, ...]
    last_norm: Tensor
    head: Matrix
    frequencies_C: Tensor
    amplitude: float
    head_dim: int
    gated_by: str
    epsilon: float
    score_scale: float
    score_cap: float | None
    logit_cap: float | None
    cache: CacheSteps
