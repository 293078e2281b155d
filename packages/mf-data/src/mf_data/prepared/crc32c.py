"""The checksum CRC-32C (Castagnoli), and the masked form of it that TFRecord files store.

Sources: RFC 3720, appendix B.4 (the polynomial); Kounavis and Berry 2005, A systematic approach to building high
performance, software-based, CRC generators (several bytes at a time by tables); the masking is that of TensorFlow
(tensorflow/core/lib/hash/crc32c.h).
"""

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = 0x82F63B78
"""Bits in reverse order."""

_BLOCK = 256
"""Bytes that are looked up at a time: the tables then take 256 KB, which fits a cache."""

_MASK = 0xA282EAD8


def _tables() -> NDArray[np.uint32]:
    """uint32 [_BLOCK, 256]: the checksum of a byte with so many zero bytes behind it."""
    first = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        first = np.where(first & 1, (first >> 1) ^ np.uint32(_POLYNOMIAL), first >> 1)
    tables = [first]
    for _ in range(_BLOCK - 1):
        tables.append((tables[-1] >> 8) ^ first[tables[-1] & 0xFF])
    return np.stack(tables)


_TABLES = _tables()


def crc32c(content: NDArray[np.uint8]) -> int:
    """The checksum of some bytes, uint8 [any]."""
    state = 0xFFFFFFFF
    for start in range(0, len(content), _BLOCK):
        block = content[start : start + _BLOCK]
        size = len(block)
        # The state so far changes the first four bytes; of fewer bytes, a part of it is left behind them.
        head = np.frombuffer(state.to_bytes(4, "little"), np.uint8)
        mixed = block.copy()
        mixed[: len(head)] ^= head[:size]
        looked_up = _TABLES[np.arange(size - 1, -1, -1), mixed]
        state = int(np.bitwise_xor.reduce(looked_up)) ^ (state >> (8 * size) if size < len(head) else 0)
    return state ^ 0xFFFFFFFF


def masked_crc32c(content: NDArray[np.uint8]) -> int:
    """The checksum as a TFRecord file stores it, so that a checksum of bytes that hold one is no trivial number."""
    crc = crc32c(content)
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF
