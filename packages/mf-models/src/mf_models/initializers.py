"""New weights as a function of (seed, parameter name, position in the tensor), and of nothing else.

The order of parameters, the number of processes and the layout don't matter, and a slice is drawn without the rest.
"""

import hashlib
import math
from collections.abc import Sequence

import numpy as np
from mindspore import Tensor, nn

from mf_models.networks import parameters

_CHUNK = 1 << 22
"""Elements drawn at once: bounds the float64 intermediates to about 100 MB."""


_ADDED = (".bias", ".shift")
"""Ends of the names of vectors that are added to something: they start as zeros."""


def initialize(cell: nn.Cell, seed: int) -> None:
    """Give every weight its first value: normal for matrices, ones for scales of norms, zeros for what is added.

    Args:
        cell: a cell with an `initializer_range`, the standard deviation.
        seed: any integer from 0.
    """
    for name, parameter in parameters(cell).items():
        parameter.set_data(Tensor(initial_values(name, parameter.shape, seed, cell.initializer_range)))


def initial_values(
    name: str, shape: Sequence[int], seed: int, standard_deviation: float, part: tuple[slice, ...] = ()
) -> np.ndarray:
    """First value of one weight, or of a part of it.

    Args:
        name: parameter name.
        shape: shape of the whole weight.
        seed: any integer from 0.
        standard_deviation: of a matrix.
        part: slices (without steps) of the leading dims; empty for all.

    Returns:
        Array of the part's shape, float32.
    """
    ranges = [piece.indices(size) for piece, size in zip(part, shape, strict=False)]
    ranges += [(0, size, 1) for size in shape[len(ranges) :]]
    if len(shape) == 1:
        return np.full(len(range(*ranges[0])), not name.endswith(_ADDED), np.float32)
    columns = tuple(slice(start, stop) for start, stop, _ in ranges[1:])
    width = math.prod(shape[1:])
    rows_at_once = max(1, _CHUNK // max(1, width))
    first, last, _ = ranges[0]
    pieces = []
    for row in range(first, max(first, last), rows_at_once):
        count = min(rows_at_once, last - row)
        normals = _normals(name, seed, row * width, count * width).reshape((count, *shape[1:]))
        pieces.append((normals[(slice(None), *columns)] * standard_deviation).astype(np.float32))
    if not pieces:
        return np.zeros([len(range(*bounds)) for bounds in ranges], np.float32)
    return np.concatenate(pieces)


def _normals(name: str, seed: int, first: int, count: int) -> np.ndarray:
    """Elements `first` to `first + count` of the endless sequence of a name, float64.

    Each 64-bit word of the counter-based generator makes elements 2i and 2i + 1, so that any element can be reached.

    Source: Salmon et al. 2011, Parallel Random Numbers: As Easy as 1, 2, 3 (Philox); Box and Muller 1958.
    """
    key = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=16).digest()
    generator = np.random.Philox(key=np.frombuffer(key, "<u8").astype(np.uint64))
    block = first // _NORMALS_PER_BLOCK
    generator.advance(block)
    skipped = first - block * _NORMALS_PER_BLOCK
    words = generator.random_raw(-(-(skipped + count) // 2))
    # Half a step keeps the radius's uniform away from 0, whose logarithm is infinite.
    radius = np.sqrt(-2.0 * np.log(((words >> np.uint64(32)).astype(np.float64) + 0.5) / 2.0**32))
    angle = (words & np.uint64(0xFFFFFFFF)).astype(np.float64) * (2.0 * math.pi / 2.0**32)
    pairs = np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1)
    return pairs.reshape(-1)[skipped : skipped + count]


_NORMALS_PER_BLOCK = 8
"""Philox4x64 makes four words a counter value."""
