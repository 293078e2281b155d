"""Checks an index of Megatron's form as a whole, piece by piece: in the same memory whatever its size."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_data.indexed.header import HEADER, LENGTH, PLACE

_ENTRIES_AT_ONCE = 1 << 17
"""Entries of a piece: a few arrays of them fit the cache of a core, which makes the check twice as fast."""


def check_index(index: Path, itemsize: int, sequences: int, documents: int) -> tuple[int, int]:
    """Check that sequences follow each other without gaps, as every writer makes them, and documents likewise.

    The file is read, not mapped: pages of a map that were looked at would count as memory of the process.

    Args:
        index: the file; its head is known to be right.
        itemsize: bytes of an id.
        sequences: how many lengths and places it has.
        documents: how many document indices it has.
    Returns:
        Ids of the shortest and of the longest sequence; 0 and 0 where there is none.
    Raises:
        UserError: something is out of order.
    """
    after_lengths = HEADER.size + sequences * LENGTH.itemsize
    shortest, longest, expected = (2**31 if sequences else 0), 0, 0
    pieces = zip(
        _pieces(index, HEADER.size, sequences, LENGTH), _pieces(index, after_lengths, sequences, PLACE), strict=True
    )
    for (start, lengths), (_, places) in pieces:
        least = int(lengths.min())
        if least < 0:
            raise UserError(f"{index}: sequence {start + int(np.argmax(lengths < 0))} has length {least}.")
        sizes = lengths.astype(np.int64) * itemsize
        if places[0] != expected or not np.array_equal(places[1:] - places[:-1], sizes[:-1]):
            raise _misplaced(index, start, places, expected + np.cumsum(sizes) - sizes, itemsize)
        expected = int(places[-1] + sizes[-1])
        shortest, longest = min(shortest, least), max(longest, int(lengths.max()))
    _check_documents(index, after_lengths + sequences * PLACE.itemsize, sequences, documents)
    return shortest, longest


def _misplaced(
    index: Path, start: int, places: NDArray[np.int64], expected: NDArray[np.int64], itemsize: int
) -> UserError:
    wrong = int(np.argmax(places != expected))
    return UserError(
        f"{index}: sequence {start + wrong} begins at byte {places[wrong]}, but the lengths before it and ids of "
        f"{itemsize} bytes put it elsewhere. The index is damaged or its type code is wrong."
    )


def _check_documents(index: Path, offset: int, sequences: int, documents: int) -> None:
    first, last = None, -1
    for _, numbers in _pieces(index, offset, documents, PLACE):
        if numbers[0] < last or (numbers[1:] < numbers[:-1]).any():
            raise UserError(f"{index}: the document indices are not in order.")
        first, last = numbers[0] if first is None else first, int(numbers[-1])
    if first != 0 or last != sequences:
        raise UserError(f"{index}: the document indices do not run from 0 to {sequences}, the number of sequences.")


def _pieces(path: Path, offset: int, count: int, dtype: np.dtype[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Stretches of an array in a file: the number of the first entry, and the entries."""
    with path.open("rb") as file:
        file.seek(offset)
        for start in range(0, count, _ENTRIES_AT_ONCE):
            yield start, np.fromfile(file, dtype, min(_ENTRIES_AT_ONCE, count - start))
