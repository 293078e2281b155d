"""Data sets of rows with random access: what `Batches` draws from."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Columns = dict[str, NDArray[np.int32]]
"""Column name to int32 [rows, width]."""

IGNORED = -100
"""Label of a token that no loss counts."""


class Rows(Protocol):
    """A data set of equally long rows with random access.

    `input_ids` and `labels` stand one beside the other: the model's answer to id i is compared with label i + 1, and a
    label of `IGNORED` is not compared. Rows without labels learn all of their ids.
    """

    @property
    def padding(self) -> Mapping[str, int]:
        """Column name to the value that fills a row which stands for no data."""

    @property
    def fingerprint(self) -> str:
        """Hash of all the rows, or of what they are made from: it differs where rows differ."""

    def __len__(self) -> int:
        """How many rows there are."""
        ...

    def __getitem__(self, indices: NDArray[np.integer[Any]]) -> Columns:
        """The rows of int [n] indices, each column int32 [n, width]."""
        ...


class ColumnRows:
    """Rows that lie in memory."""

    def __init__(self, columns: Columns, padding: Mapping[str, int]):
        """Takes the columns, int32 [rows, width] each, and what fills a row of each that stands for no data."""
        self._columns = columns
        self.padding = padding

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all the rows."""
        parts: list[Any] = ["columns"]
        for name, column in sorted(self._columns.items()):
            parts += [name, column.shape, np.ascontiguousarray(column, dtype="<i4")]
        return digest(*parts)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(next(iter(self._columns.values())))

    def __getitem__(self, indices: NDArray[np.integer[Any]]) -> Columns:
        """The rows of int [n] indices, each column int32 [n, width], a copy."""
        return {name: column[indices] for name, column in self._columns.items()}


def padded(values: Sequence[NDArray[np.int32]], width: int, fill: int) -> NDArray[np.int32]:
    """Sequences of at most `width` values each as one array.

    Args:
        values: n sequences, int32 [any].
        width: length of a row.
        fill: what stands behind the end of a sequence.
    Returns:
        int32 [n, width].
    """
    lengths = np.array([len(value) for value in values], dtype=np.int64)
    filled = np.full((len(values), width), fill, dtype=np.int32)
    if len(values):
        filled[np.arange(width) < lengths[:, None]] = np.concatenate(values)
    return filled


def digest(*parts: object) -> str:
    """Hash of values, which are told apart by their text, and of arrays, by their bytes."""
    hashed = hashlib.sha256()
    for part in parts:
        array = np.ascontiguousarray(part) if isinstance(part, np.ndarray) else np.frombuffer(f"{part}".encode(), "S1")
        hashed.update(f"{array.dtype.str}{array.shape}:".encode())
        hashed.update(array.data)
    return hashed.hexdigest()
