"""The blocks in which large tensors are read, one after the other."""

from collections.abc import Iterator

import numpy as np

from mf_ckpt.sources.source import Slices

BLOCK_BYTES = 8_388_608
"""What is read and written at once: long enough for a disk, short enough to hold several in memory."""


def parts(shape: tuple[int, ...], most: int) -> Iterator[tuple[Slices, int]]:
    """A tensor cut into parts that follow one another in its bytes.

    Args:
        shape: the tensor's shape.
        most: elements of a part at most.

    Yields:
        Bounded slices, and the number of their elements; nothing for a tensor without elements.
    """
    if 0 in shape:
        return
    inner, dim = 1, len(shape)
    while dim and inner * shape[dim - 1] <= most:
        dim -= 1
        inner *= shape[dim]
    tail = tuple(slice(0, size) for size in shape[dim:])
    if dim == 0:
        yield tail, inner
        return
    length, step = shape[dim - 1], max(1, most // inner)
    for outer in np.ndindex(*shape[: dim - 1]):
        head = tuple(slice(index, index + 1) for index in outer)
        for start in range(0, length, step):
            stop = min(start + step, length)
            yield (*head, slice(start, stop), *tail), (stop - start) * inner
