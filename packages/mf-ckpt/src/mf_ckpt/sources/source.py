"""What a source of tensors is: the one interface behind every file format, slicing, renaming and casting.

A format reads by being a `Source`; a transform is a `Source` made from another one. Nothing here knows files.
"""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import Generic, TypeVar

import numpy as np

from mf_ckpt.dtypes import ELEMENT_TYPES, Array
from mf_ckpt.tensor_info import TensorInfo
from mf_config.problems import UserError
from mf_config.suggest import nearest

Slices = tuple[slice, ...]
"""One `slice(start, stop)` for each leading dimension."""

_SHOWN_NAMES = 5


class TensorNotFoundError(UserError, KeyError):
    """A name that a source of tensors lacks."""

    def __init__(self, origin: str, name: str, names: Collection[str]):
        """Takes how to call the whole, the name asked for, and the names there are."""
        super().__init__(origin, name)
        self._names = names

    def __str__(self) -> str:
        """The message with the nearest name, sought only now: `get` drops the error, and many names take long."""
        origin, name = self.args
        guess = nearest(name, self._names)
        hint = f" Did you mean {guess}?" if guess else ""
        return f"{origin}: no tensor {name!r} among {len(self._names)}.{hint}"


class Source(Mapping[str, Array]):
    """A lazy mapping from names to tensors, which reads a tensor, or the part of it that is asked for, on demand.

    A source defines `info` and `raw`, and the names: by deriving from `TableSource`, or by `__iter__`, `__len__` and a
    quick `__contains__`. It is safe to read from several threads at once. What is asked for is read, and no more, so
    that a pass over all parts of a tensor costs as much as reading it once.
    """

    @abstractmethod
    def info(self, name: str) -> TensorInfo:
        """Stored element type and shape, without reading the tensor.

        Raises:
            TensorNotFoundError: there is no tensor of that name.
        """

    @abstractmethod
    def raw(self, name: str, slices: Slices = ()) -> Array:
        """The stored bits, untouched: uint16 for BF16, uint8 for 8-bit floats, else the stored type.

        Args:
            name: the tensor.
            slices: as for `read`.

        Returns:
            The bits in the shape of the slices; a read-only view where the source can give one.

        Raises:
            TensorNotFoundError: there is no tensor of that name.
            ValueError: a slice leaves the tensor.
        """

    def raw_into(self, name: str, slices: Slices, out: Array) -> None:
        """Copy stored bits into an array; a source overrides it where that saves memory or copies.

        Args:
            name: the tensor.
            slices: as for `read`.
            out: an array of the slices' shape and the storage type, any strides.
        """
        out[...] = self.raw(name, slices)

    def read(self, name: str, slices: Slices = ()) -> Array:
        """The values of a tensor or of a part of it.

        Args:
            name: the tensor.
            slices: one `slice(start, stop)` for each leading dimension, within bounds and without a step; dimensions
                that are not named are taken whole.

        Returns:
            The values in the shape of the slices; float32 for BF16 and 8-bit floats, else the stored type.

        Raises:
            TensorNotFoundError: there is no tensor of that name.
            ValueError: a slice leaves the tensor, which numpy would answer with fewer elements.
        """
        bits = self.raw(name, slices)
        widen = ELEMENT_TYPES[self.info(name).dtype].widen
        return bits if widen is None else widen(bits)

    def __getitem__(self, name: str) -> Array:
        """The values of a whole tensor, any shape; raises `TensorNotFoundError`, which is a `KeyError`."""
        return self.read(name)

    def __contains__(self, name: object) -> bool:
        """Whether there is a tensor of that name; nothing is read."""
        return any(name == own for own in self)


Item = TypeVar("Item")


class TableSource(Source, Generic[Item]):
    """A source that keeps something for each tensor in a table by name: a file, a place, another source."""

    def __init__(self, table: Mapping[str, Item], origin: str):
        """Takes the table, and how messages call the source."""
        self._table = table
        self._origin = origin

    def __iter__(self) -> Iterator[str]:
        """The names, in the order of the table."""
        return iter(self._table)

    def __len__(self) -> int:
        """Number of tensors."""
        return len(self._table)

    def __contains__(self, name: object) -> bool:
        """Whether there is a tensor of that name; nothing is read."""
        return name in self._table

    def _entry(self, name: str) -> Item:
        if name not in self._table:
            raise TensorNotFoundError(self._origin, name, self._table.keys())
        return self._table[name]


def bounded(name: str, slices: Slices, shape: tuple[int, ...]) -> Slices:
    """Slices written out for every dimension.

    Args:
        name: the tensor, for the message.
        slices: what a caller asks for.
        shape: the tensor's shape.

    Returns:
        One `slice(start, stop)` with both numbers for each dimension.

    Raises:
        ValueError: a slice leaves the tensor, or has a step.
    """
    padded = (*slices, *(slice(None) for _ in shape[len(slices) :]))
    full = tuple(
        slice(piece.start or 0, size if piece.stop is None else piece.stop)
        for piece, size in zip(padded, shape, strict=False)
    )
    inside = len(slices) <= len(shape) and all(
        piece.step in (None, 1) and 0 <= whole.start <= whole.stop <= size
        for piece, whole, size in zip(padded, full, shape, strict=True)
    )
    if not inside:
        raise ValueError(f"tensor {name!r}: slices {slices} don't lie inside shape {shape}")
    return full


def extents(slices: Slices) -> tuple[int, ...]:
    """The shape of bounded slices."""
    return tuple(part.stop - part.start for part in slices)


def shifted(slices: Slices, origin: tuple[int, ...]) -> Slices:
    """Bounded slices counted from another origin: `start - origin`, dimension by dimension."""
    return tuple(slice(part.start - by, part.stop - by) for part, by in zip(slices, origin, strict=True))


def overlap(one: Slices, other: Slices) -> Slices | None:
    """What two boxes of bounded slices have in common; None where that is nothing."""
    common = tuple(slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(one, other, strict=True))
    return common if all(part.start < part.stop for part in common) else None


def part(array: Array, slices: Slices) -> Array:
    """A view of a part of an array; unlike plain indexing also of an array without dimensions."""
    index: tuple[slice | EllipsisType, ...] = (*slices, ...)
    view: Array = array[index]
    return view


def storage(info: TensorInfo) -> np.dtype[np.generic]:
    """The numpy type that holds the bits of a tensor."""
    return ELEMENT_TYPES[info.dtype].storage


def some(names: Sequence[str]) -> str:
    """The first names of a long list, quoted for a message."""
    rest = len(names) - _SHOWN_NAMES
    return ", ".join(map(repr, names[:_SHOWN_NAMES])) + (f" and {rest} more" if rest > 0 else "")
