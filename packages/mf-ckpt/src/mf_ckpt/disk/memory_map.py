"""Maps files, or stretches of them, into memory for as long as they are looked at.

A mapping keeps its file open, and a process may have about 1,000 open files; a checkpoint of many ranks has more. So
nothing here outlives the array or the context that asked for it.
"""

import mmap
import os
from pathlib import Path
from typing import Protocol

import numpy as np

from mf_ckpt.disk.files import CheckpointError
from mf_ckpt.dtypes import Array


class Buffer(Protocol):
    """What a header is read from: bytes, or a file mapped into memory."""

    def __len__(self) -> int:
        """Number of bytes."""

    def __getitem__(self, place: slice, /) -> bytes:
        """A copy of some bytes."""


def map_file(path: Path) -> mmap.mmap:
    """A file's content, read page by page when it is touched; close it by using it as a context manager.

    Args:
        path: the file.

    Returns:
        The read-only mapping.

    Raises:
        CheckpointError: the file is missing, empty, a folder or not readable.
    """
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise CheckpointError(path, "is empty")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise CheckpointError(path, "no such file") from None
    except IsADirectoryError:
        raise CheckpointError(path, "is a folder where a file is needed") from None
    except PermissionError:
        raise CheckpointError(path, "can't be read: permission denied") from None


def map_bytes(path: Path, start: int, count: int) -> Array:
    """A stretch of a file as a read-only array, mapped until nothing views the array any more.

    Args:
        path: the file; it must not have changed since its header was read.
        start: the first byte.
        count: number of bytes.

    Returns:
        uint8, [count].
    """
    if count == 0:
        return np.empty(0, np.uint8)
    return np.asarray(np.memmap(path, np.uint8, "r", start, (count,)))
