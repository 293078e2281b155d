"""What a row of a key map is: some tensors made from some others, part by part, and the inverse of that.

A row has name patterns on both sides. `{layer}` or any other word in braces stands for a whole number, the same on both
sides. `fill` makes any part of a target and reads no more of the sources than that part needs, so tensors larger than
memory pass through. A new kind of row is one more class of this form; maps and their callers don't change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mf_ckpt.dtypes import Array
from mf_ckpt.sources.arrays import ArraySource
from mf_ckpt.sources.source import Slices, Source, extents, storage
from mf_ckpt.tensor_info import TensorInfo
from mf_config.problems import UserError


@dataclass(frozen=True, slots=True)
class Part:
    """One tensor of a source: what a row reads from.

    Attributes:
        source: where it lies.
        name: its name there.
    """

    source: Source
    name: str

    @property
    def info(self) -> TensorInfo:
        """Its element type and shape."""
        return self.source.info(self.name)

    def read_into(self, slices: Slices, out: Array) -> None:
        """Copy the bits of a part of it into an array of that part's shape."""
        self.source.raw_into(self.name, slices, out)

    def load(self, slices: Slices) -> Array:
        """The bits of a part of it as a new array; all slices have both numbers."""
        out = np.empty(extents(slices), storage(self.info))
        self.read_into(slices, out)
        return out


class Row(Protocol):
    """What a key map asks of a row."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Name patterns of the tensors it takes."""

    @property
    def targets(self) -> tuple[str, ...]:
        """Name patterns of the tensors it gives."""

    def infos(self, sources: Sequence[TensorInfo]) -> list[TensorInfo]:
        """Types and shapes of the targets, from those of the sources.

        Raises:
            UserError: the sources don't have the form that the row is made for.
        """

    def fill(self, target: int, slices: Slices, out: Array, sources: Sequence[Part]) -> None:
        """Make a part of a target.

        Args:
            target: which one, counted through `targets`.
            slices: which part; one `slice(start, stop)` with both numbers for each dimension.
            out: where to: an array of that part's shape and the target's storage type.
            sources: the tensors to read from, in the order of `sources`.
        """

    def inverse(self) -> "Row":
        """The row that undoes this one exactly."""


def apply(row: Row, arrays: Sequence[Array]) -> list[Array]:
    """All targets of a row, from whole arrays.

    Args:
        row: the row.
        arrays: one array for each source pattern, in their order.

    Returns:
        One new array for each target pattern.

    Raises:
        UserError: the arrays don't have the form that the row is made for.
    """
    source = ArraySource({str(number): array for number, array in enumerate(arrays)})
    parts = [Part(source, name) for name in source]
    targets = []
    for number, info in enumerate(row.infos([part.info for part in parts])):
        out: Array = np.empty(info.shape, storage(info))
        row.fill(number, tuple(slice(0, size) for size in info.shape), out, parts)
        targets.append(out)
    return targets


def same_form(what: str, infos: Sequence[TensorInfo], but_dim: int | None = None) -> TensorInfo:
    """Make sure that tensors can be put together.

    Args:
        what: the row, for the message.
        infos: the tensors' types and shapes.
        but_dim: the dimension in which they may differ.

    Returns:
        The first of them.

    Raises:
        UserError: they differ.
    """
    first = infos[0]
    for info in infos[1:]:
        if _without(info, but_dim) != _without(first, but_dim):
            raise UserError(
                f"{what}: {info.dtype} {list(info.shape)} beside {first.dtype} {list(first.shape)}. "
                "Allowed: tensors of one type and shape."
            )
    return first


def _without(info: TensorInfo, dim: int | None) -> tuple[str, tuple[int, ...]]:
    return info.dtype, tuple(size for number, size in enumerate(info.shape) if number != dim)
