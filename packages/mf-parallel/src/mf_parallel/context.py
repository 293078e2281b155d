"""Attention over rows whose tokens are divided among ranks.

Legend: B batch, N query heads, K key/value heads, T this rank's tokens, S tokens of a row, H head dim, R ranks that
exchange heads, J = S in the order of the ranks.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from mindspore import Tensor, mint, nn

from mf_config.layout import Mesh
from mf_parallel.axes import AxisCommunicators
from mf_parallel.collectives import AllGather, Communicator, piece
from mf_parallel.regions import EnterSequence, Exchange
from mf_parallel.row_places import RowDivision

_HEADS, _TOKENS = 1, 2
"""Dims of queries, keys and values [B, N, T, H]."""

_OPERATIONS = ("attention", "capped_attention", "general_attention")
_FUSED_OPERATION = "rotary_attention"
"""What the attention layers of mf call their operations, which take queries, keys, values and more."""


class RowPart(nn.Cell):
    """Where this rank's tokens stand in their rows."""

    def __init__(self, places: Sequence[int], length: int, ranks: Communicator):
        """Takes the places, the number of tokens of a row, and the ranks that exchange heads."""
        super().__init__()
        self.places_1T = Tensor(np.array([places], np.int32))
        self.length = length
        self.gather = AllGather(ranks, 1)

    def construct(self) -> tuple[Tensor, int]:
        """Places of the tokens, [1, T] int32, and the number of tokens of a row, S."""
        return self.places_1T, self.length

    def of_queries(self, mask_BTS: Tensor) -> Tensor:
        """The mask of all queries that this rank attends from, [B or 1, R * T, S], from that of its own."""
        return self.gather(mask_BTS)


class RowAttention(nn.Cell):
    """Attention from some tokens of a row to all of them: ranks exchange heads, and gather keys over the rings.

    Source: Jacobs et al. 2023, DeepSpeed Ulysses, section 3.1, for the exchange of heads.
    """

    def __init__(self, operation: Any, ring: Communicator, ranks: Communicator, chunk_order: Sequence[int]):
        """Fixes who works with whom.

        Args:
            operation: the attention of one rank, a function of graph code.
            ring: the ranks over which keys are gathered.
            ranks: the ranks that exchange heads.
            chunk_order: see `RowDivision.chunk_order`.
        """
        super().__init__(auto_prefix=False)
        self.operation = operation
        self.to_heads = Exchange(ranks, _HEADS, _TOKENS)
        self.to_tokens = Exchange(ranks, _TOKENS, _HEADS)
        self.gather = EnterSequence(ring, _TOKENS)
        self.exchanges = ranks.size > 1
        self.gathers = ring.size > 1
        self.chunk_order = tuple(chunk_order)

    def construct(self, q_BNTH: Tensor, k_BKTH: Tensor, v_BKTH: Tensor, *others: Any) -> Tensor:
        """What the queries see.

        Args:
            q_BNTH: [B, N, T, H], queries of this rank's tokens.
            k_BKTH: [B, K, T, H], their keys.
            v_BKTH: [B, K, T, H], their values.
            *others: what the operation takes besides; its mask is that of `RowPart.of_queries`.

        Returns:
            [B, N, T, H].
        """
        if self.exchanges:
            q_BNTH = self.to_heads(q_BNTH)
            k_BKTH = self.to_heads(k_BKTH)
            v_BKTH = self.to_heads(v_BKTH)
        if self.gathers:
            k_BKTH = self.in_order(self.gather(k_BKTH))
            v_BKTH = self.in_order(self.gather(v_BKTH))
        out_BNTH = self.operation(q_BNTH, k_BKTH, v_BKTH, *others)
        return self.to_tokens(out_BNTH) if self.exchanges else out_BNTH

    def in_order(self, x_BKJH: Tensor) -> Tensor:
        """[B, K, S, H] in the order of the row."""
        size = x_BKJH.shape[_TOKENS] // len(self.chunk_order)
        chunks: tuple[Tensor, ...] = ()
        for place in self.chunk_order:
            chunks = (*chunks, piece(x_BKJH, _TOKENS, place * size, size))
        return mint.cat(chunks, _TOKENS)


def divide_rows(decoder: Any, division: RowDivision, length: int, axes: AxisCommunicators) -> None:
    """Make a network work on this rank's tokens of each row.

    Args:
        decoder: a cell with an attribute `row_part`, and attention layers in it.
        division: how rows are divided among the ranks of `cp`.
        length: tokens of a row.
        axes: this rank's communicators.
    """
    split = axes.on(_split(axes.mesh, division))
    ring, ranks = split.along("cp"), split.along("heads")
    decoder.row_part = RowPart(division.places(length, axes.position("cp")), length, ranks)
    for _, cell in list(decoder.cells_and_names()):
        _divide_attention(cell, ring, ranks, division.chunk_order)


def _divide_attention(cell: Any, ring: Communicator, ranks: Communicator, chunk_order: Sequence[int]) -> None:
    for name in _OPERATIONS:
        operation = getattr(cell, name, None)
        # A block calls its attention layer by the same name.
        if operation is not None and not isinstance(operation, nn.Cell):
            setattr(cell, name, RowAttention(operation, ring, ranks, chunk_order))
    if getattr(cell, _FUSED_OPERATION, None) is not None:
        setattr(cell, _FUSED_OPERATION, None)


def _split(mesh: Mesh, division: RowDivision) -> Mesh:
    """The mesh with `cp` split into rings and the ranks of each."""
    place = mesh.axes.index("cp")
    return Mesh(
        (*mesh.axes[: place + 1], "heads", *mesh.axes[place + 1 :]),
        (*mesh.degrees[:place], division.rings, division.ranks, *mesh.degrees[place + 1 :]),
    )
