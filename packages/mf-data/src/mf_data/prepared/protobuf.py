"""The wire format of protocol buffers, as far as stored samples need it.

Source: Protocol Buffers documentation, Encoding.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_LONGEST = 10
"""Bytes of a number of 64 bits."""

Field = tuple[int, int, NDArray[np.uint8]]
"""Number of a field, its wire type, and its content."""


def fields(content: NDArray[np.uint8]) -> Iterator[Field]:
    """The fields of a message, in their order.

    Args:
        content: uint8 [any], the message.
    Raises:
        ValueError: the bytes are no message.
    """
    place = 0
    while place < len(content):
        tag, place = _one(content, place)
        wire = tag & 7
        if wire == VARINT:
            _, stop = _one(content, place)
        elif wire == BYTES:
            size, place = _one(content, place)
            stop = place + size
        elif wire in (FIXED64, FIXED32):
            stop = place + (8 if wire == FIXED64 else 4)
        else:
            raise ValueError(f"wire type {wire}")
        if stop > len(content):
            raise ValueError("a field ends behind its message")
        yield tag >> 3, wire, content[place:stop]
        place = stop


def varints(content: NDArray[np.uint8]) -> NDArray[np.int64]:
    """All numbers of a packed field.

    Args:
        content: uint8 [any].
    Returns:
        int64 [numbers].
    Raises:
        ValueError: the last number is cut off, or one is too long.
    """
    ends = np.flatnonzero(content < 0x80)
    if not len(content):
        return np.zeros(0, np.int64)
    if not len(ends) or ends[-1] != len(content) - 1:
        raise ValueError("a number is cut off")
    starts = np.concatenate([[0], ends[:-1] + 1])
    nth = np.arange(len(content)) - np.repeat(starts, ends - starts + 1)
    if nth.max() >= _LONGEST:
        raise ValueError("a number is too long")
    parts = (content & 0x7F).astype(np.uint64) << (7 * nth).astype(np.uint64)
    numbers: NDArray[np.uint64] = np.bitwise_or.reduceat(parts, starts)
    return numbers.view(np.int64)


def _one(content: NDArray[np.uint8], place: int) -> tuple[int, int]:
    """The number that begins at a place, and the place behind it."""
    number = 0
    for shift, byte in enumerate(content[place : place + _LONGEST].tolist()):
        number |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return number, place + shift + 1
    raise ValueError("a number is cut off")
