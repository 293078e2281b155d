"""The row between the two conventions of rotary position embeddings.

A rotation turns pairs of a head's rows. Interleaved, a pair is two neighbours (0, 1), (2, 3), …; in halves, it is a row
and the one half a rotation away, (0, r/2), (1, r/2 + 1), …
Source: Su et al. 2021, RoFormer, section 3.2 (interleaved); the pairing by halves is that of GPT-NeoX.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mf_ckpt.dtypes import Array
from mf_ckpt.keymap.rows.row import Part
from mf_ckpt.sources.source import Slices, part
from mf_ckpt.tensor_info import TensorInfo
from mf_config.problems import UserError


@dataclass(frozen=True, slots=True)
class Permute:
    """A query or key projection (weight [heads * head_size, in] or bias) with the rows of each head reordered.

    Attributes:
        source: its name pattern.
        target: its other name pattern.
        head_size: rows of a head.
        rotary_size: rows of a head that are rotated, its first ones; an even number, all of the head where 0.
        to_halves: True from interleaved pairs to halves, False the other way.
    """

    source: str
    target: str
    head_size: int
    rotary_size: int = 0
    to_halves: bool = True

    def __post_init__(self) -> None:
        """Raises `ValueError` where the rotated rows are no even part of a head."""
        if self._rotated % 2 or not 0 < self._rotated <= self.head_size:
            raise ValueError(f"{self._rotated} rotated rows of a head of {self.head_size}: must be an even part of it")

    @property
    def sources(self) -> tuple[str, ...]:
        """The one source pattern."""
        return (self.source,)

    @property
    def targets(self) -> tuple[str, ...]:
        """The one target pattern."""
        return (self.target,)

    def infos(self, sources: Sequence[TensorInfo]) -> list[TensorInfo]:
        """The same type and shape; raises `UserError` where the rows are not whole heads."""
        (info,) = sources
        if not info.shape or info.shape[0] % self.head_size:
            raise UserError(
                f"{self.source}: has shape {list(info.shape)}. Allowed: heads of {self.head_size} rows first."
            )
        return [info]

    def fill(self, target: int, slices: Slices, out: Array, sources: Sequence[Part]) -> None:
        """Read whole heads at once and single rows of the heads that the part cuts; see `Row.fill`."""
        (tensor,), order = sources, self._order()
        rows, rest = slices[0], slices[1:]
        first, after = -(-rows.start // self.head_size) * self.head_size, rows.stop // self.head_size * self.head_size
        if first < after:
            heads = tensor.load((slice(first, after), *rest))
            heads = heads.reshape(-1, self.head_size, *heads.shape[1:])[:, order]
            part(out, (slice(first - rows.start, after - rows.start),))[...] = heads.reshape(-1, *heads.shape[2:])
        single = [row for row in range(rows.start, rows.stop) if not first <= row < after]
        for row in single:
            head, inside = divmod(row, self.head_size)
            found = head * self.head_size + int(order[inside])
            place = row - rows.start
            tensor.read_into((slice(found, found + 1), *rest), part(out, (slice(place, place + 1),)))

    def inverse(self) -> "Permute":
        """The same row the other way."""
        return replace(self, source=self.target, target=self.source, to_halves=not self.to_halves)

    @property
    def _rotated(self) -> int:
        return self.rotary_size or self.head_size

    def _order(self) -> Array:
        """Target row to source row within a head, int64 [head_size]."""
        rows = np.arange(self.head_size)
        turned = rows[: self._rotated]
        pairs = turned.reshape(-1, 2) if self.to_halves else turned.reshape(2, -1)
        rows[: self._rotated] = pairs.T.reshape(-1).copy()
        return rows
