"""New weights as a function of (seed, parameter name, position in the tensor), and of nothing else.

The order of parameters, the number of processes and the layout don't matter, and a slice is drawn without the rest.
"""

import hashlib
import math
from collections.abc import Callable, Sequence

import numpy as np
from mindspore import Tensor, nn

from mf_models.networks import parameters

_CHUNK = 1 << 22
"""Elements drawn at once: bounds the float64 intermediates to about 100 MB."""


_ADDED = (".bias", ".shift")
"""Ends of the names of vectors that are added to something: they start as zeros."""

Part = tuple[slice, ...]
"""Slices (without steps) of the leading dims; empty for all."""


def initialize(cell: nn.Cell, seed: int) -> None:
    """Give every weight its first value: normal for matrices, ones for scales of norms, zeros for what is added.

    Args:
        cell: a cell with an `initializer_range`, the standard deviation.
        seed: any integer from 0.
    """
    for name, parameter in parameters(cell).items():
        parameter.set_data(Tensor(initial_values(name, parameter.shape, seed, cell.initializer_range)))


def initial_values(
    name: str, shape: Sequence[int], seed: int, standard_deviation: float, part: Part = ()
) -> np.ndarray:
    """First value of one weight, or of a part of it.

    Args:
        name: parameter name.
        shape: shape of the whole weight.
        seed: any integer from 0.
        standard_deviation: of a matrix.
        part: which part.

    Returns:
        Array of the part's shape, float32.
    """
    if len(shape) > 1:
        return _drawn(lambda *place: _normals(name, seed, *place) * standard_deviation, shape, part)
    (rows,) = _bounds(shape, part)
    return np.full(len(rows), not name.endswith(_ADDED), np.float32)


def uniform_values(name: str, shape: Sequence[int], seed: int, bound: float, part: Part = ()) -> np.ndarray:
    """As `initial_values`, but all numbers lie evenly between `-bound` and `bound`."""
    return _drawn(lambda *place: _evens(name, seed, *place) * bound, shape, part)


def _drawn(draw: Callable[[int, int], np.ndarray], shape: Sequence[int], part: Part) -> np.ndarray:
    """A part of a tensor whose elements, row after row, are those of an endless sequence; float32.

    Args:
        draw: gives elements of the sequence: number of the first one, and how many.
        shape: shape of the whole tensor.
        part: which part.
    """
    rows, *others = _bounds(shape, part)
    columns = tuple(slice(bounds.start, bounds.stop) for bounds in others)
    width = math.prod(shape[1:])
    rows_at_once = max(1, _CHUNK // max(1, width))
    pieces = []
    for row in rows[::rows_at_once]:
        count = min(rows_at_once, rows.stop - row)
        values = draw(row * width, count * width).reshape((count, *shape[1:]))
        pieces.append(values[(slice(None), *columns)].astype(np.float32))
    if not pieces:
        return np.zeros([len(rows), *map(len, others)], np.float32)
    return np.concatenate(pieces)


def _bounds(shape: Sequence[int], part: Part) -> list[range]:
    """What a part takes of each dim."""
    rest = (slice(None),) * (len(shape) - len(part))
    return [range(*piece.indices(size)) for piece, size in zip((*part, *rest), shape, strict=True)]


def _normals(name: str, seed: int, first: int, count: int) -> np.ndarray:
    """Elements `first` to `first + count` of the normal sequence of a name, float64.

    Elements 2i and 2i + 1 are made of word i. Source: Box and Muller 1958.
    """
    words, skipped = _words(name, seed, first, count)
    # Half a step keeps the radius's uniform away from 0, whose logarithm is infinite.
    radius = np.sqrt(-2.0 * np.log((_high(words) + 0.5) / _STEPS))
    angle = _low(words) * (2.0 * math.pi / _STEPS)
    pairs = np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1)
    return pairs.reshape(-1)[skipped : skipped + count]


def _evens(name: str, seed: int, first: int, count: int) -> np.ndarray:
    """Elements `first` to `first + count` of the sequence of a name that lies evenly between -1 and 1, float64."""
    words, skipped = _words(name, seed, first, count)
    pairs = np.stack((_high(words), _low(words)), axis=1)
    return ((pairs + 0.5) * (2.0 / _STEPS) - 1.0).reshape(-1)[skipped : skipped + count]


def _words(name: str, seed: int, first: int, count: int) -> tuple[np.ndarray, int]:
    """The 64-bit words that make some elements of the sequence of a name, two each; and how many elements to skip.

    The generator is counter-based, so that any element can be reached.

    Source: Salmon et al. 2011, Parallel Random Numbers: As Easy as 1, 2, 3 (Philox).
    """
    key = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=16).digest()
    generator = np.random.Philox(key=np.frombuffer(key, "<u8").astype(np.uint64))
    block = first // _ELEMENTS_PER_BLOCK
    generator.advance(block)
    skipped = first - block * _ELEMENTS_PER_BLOCK
    return generator.random_raw(-(-(skipped + count) // 2)), skipped


def _high(words: np.ndarray) -> np.ndarray:
    return (words >> np.uint64(32)).astype(np.float64)


def _low(words: np.ndarray) -> np.ndarray:
    return (words & np.uint64(0xFFFFFFFF)).astype(np.float64)


_STEPS = 2.0**32
"""Values of half a word."""

_ELEMENTS_PER_BLOCK = 8
"""Philox4x64 makes four words a counter value."""
