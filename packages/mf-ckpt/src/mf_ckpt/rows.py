"""The rows of a key map: each turns some tensors into some others, and knows its inverse.

A row has name patterns on both sides. `{layer}` or any other word in braces stands for a whole number, the same on both
sides. `apply` takes one array for each source pattern and gives one for each target pattern; it is pure numpy. A new
kind of row is one more class of this form; maps and their callers don't change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mf_ckpt.dtypes import Array


class Row(Protocol):
    """What a key map asks of a row."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Name patterns of the tensors it takes."""

    @property
    def targets(self) -> tuple[str, ...]:
        """Name patterns of the tensors it gives."""

    def apply(self, arrays: Sequence[Array]) -> list[Array]:
        """The target tensors, in the order of `targets`, from the source tensors in the order of `sources`."""

    def inverse(self) -> "Row":
        """The row that undoes this one exactly."""


@dataclass(frozen=True, slots=True)
class Rename:
    """One tensor under another name.

    Attributes:
        source: its name pattern.
        target: its other name pattern.
    """

    source: str
    target: str

    @property
    def sources(self) -> tuple[str, ...]:
        """The one source pattern."""
        return (self.source,)

    @property
    def targets(self) -> tuple[str, ...]:
        """The one target pattern."""
        return (self.target,)

    def apply(self, arrays: Sequence[Array]) -> list[Array]:
        """The tensor as it is, any shape."""
        return list(arrays)

    def inverse(self) -> "Rename":
        """The same with the names exchanged."""
        return Rename(self.target, self.source)


@dataclass(frozen=True, slots=True)
class Join:
    """Several tensors joined into one along a dimension, such as q, k and v into a fused projection.

    Attributes:
        sources: name patterns of the parts, in order.
        target: name pattern of the whole.
        sizes: length of each part along `dim`, so that the whole can be split again.
        dim: the dimension, counted from 0.
    """

    sources: tuple[str, ...]
    target: str
    sizes: tuple[int, ...]
    dim: int = 0

    @property
    def targets(self) -> tuple[str, ...]:
        """The one target pattern."""
        return (self.target,)

    def apply(self, arrays: Sequence[Array]) -> list[Array]:
        """The parts as one tensor.

        Args:
            arrays: the parts; lengths along `dim` are `sizes`, all other dimensions agree.

        Returns:
            One tensor, `sum(sizes)` long along `dim`.

        Raises:
            ValueError: a part has another length.
        """
        found = tuple(array.shape[self.dim] for array in arrays)
        if found != self.sizes:
            raise ValueError(f"{self.target}: joins lengths {self.sizes} along dimension {self.dim}, found {found}")
        return [np.concatenate(arrays, axis=self.dim)]

    def inverse(self) -> "Split":
        """The split into the same parts."""
        return Split(self.target, self.sources, self.sizes, self.dim)


@dataclass(frozen=True, slots=True)
class Split:
    """One tensor cut into several along a dimension.

    Attributes:
        source: name pattern of the whole.
        targets: name patterns of the parts, in order.
        sizes: length of each part along `dim`.
        dim: the dimension, counted from 0.
    """

    source: str
    targets: tuple[str, ...]
    sizes: tuple[int, ...]
    dim: int = 0

    @property
    def sources(self) -> tuple[str, ...]:
        """The one source pattern."""
        return (self.source,)

    def apply(self, arrays: Sequence[Array]) -> list[Array]:
        """The parts of a tensor.

        Args:
            arrays: the whole, `sum(sizes)` long along `dim`.

        Returns:
            Views of the parts, with lengths `sizes` along `dim`.

        Raises:
            ValueError: the whole has another length.
        """
        (whole,) = arrays
        if whole.shape[self.dim] != sum(self.sizes):
            raise ValueError(
                f"{self.source}: has length {whole.shape[self.dim]} along dimension {self.dim}, not {self.sizes}"
            )
        return np.split(whole, np.cumsum(self.sizes)[:-1], axis=self.dim)

    def inverse(self) -> Join:
        """The join of the same parts."""
        return Join(self.targets, self.source, self.sizes, self.dim)
