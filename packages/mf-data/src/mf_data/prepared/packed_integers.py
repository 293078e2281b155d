"""Arrays of integers as MindRecord files store them: each integer in as few bytes as it needs.

Layout: the number of integers (4 bytes, big endian); two bits for each, from the highest bit of a byte down, that say
whether it takes 1, 2, 4 or 8 bytes; then the integers, little endian.

Source: ShardColumn::CompressInt of MindSpore (minddata/mindrecord/meta/shard_column.cc).
"""

import numpy as np
from numpy.typing import NDArray

_COUNT_BYTES = 4
_CODES_IN_BYTE = 4
_SHIFTS = np.array([6, 4, 2, 0], np.uint8)
_TYPES = [np.dtype(name) for name in ("<i1", "<i2", "<i4", "<i8")]
"""Types by their two bits."""


def pack_integers(values: NDArray[np.integer]) -> bytes:
    """Store an array of integers.

    Args:
        values: int [n].
    Returns:
        The bytes.
    """
    wide = values.astype(np.int64)
    codes = np.zeros(len(wide), np.uint8)
    for dtype in _TYPES[:-1]:
        limits = np.iinfo(dtype)
        codes += (wide < limits.min) | (wide > limits.max)
    filled = np.zeros(-(-len(wide) // _CODES_IN_BYTE) * _CODES_IN_BYTE, np.uint8)
    filled[: len(codes)] = codes
    bitmap: NDArray[np.uint8] = np.bitwise_or.reduce(filled.reshape(-1, _CODES_IN_BYTE) << _SHIFTS, axis=1)
    starts = _starts(codes)
    content = np.zeros(starts[-1], np.uint8)
    for code, dtype in enumerate(_TYPES):
        chosen = np.flatnonzero(codes == code)
        places = starts[chosen][:, None] + np.arange(dtype.itemsize)
        content[places] = wide[chosen].astype(dtype)[:, None].view(np.uint8)
    return len(wide).to_bytes(_COUNT_BYTES, "big") + bitmap.tobytes() + content.tobytes()


def unpack_integers(content: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Read an array of integers.

    Args:
        content: uint8 [any], what `pack_integers` gave.
    Returns:
        int64 [n].
    Raises:
        ValueError: the bytes are not of this form.
    """
    count = int.from_bytes(content[:_COUNT_BYTES].tobytes(), "big")
    bitmap = content[_COUNT_BYTES : _COUNT_BYTES + -(-count // _CODES_IN_BYTE)]
    codes = ((bitmap[:, None] >> _SHIFTS) & 3).ravel()[:count]
    starts = _starts(codes)
    stored = content[_COUNT_BYTES + len(bitmap) :]
    if len(codes) != count or len(stored) != starts[-1]:
        raise ValueError(f"{len(content)} bytes are not {count} packed integers")
    values = np.zeros(count, np.int64)
    for code, dtype in enumerate(_TYPES):
        chosen = np.flatnonzero(codes == code)
        places = starts[chosen][:, None] + np.arange(dtype.itemsize)
        values[chosen] = stored[places].view(dtype)[:, 0] if len(chosen) else 0
    return values


def _starts(codes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Where each integer begins behind the bits, and where the last one ends: int64 [n + 1]."""
    sizes = np.int64(1) << codes.astype(np.int64)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
