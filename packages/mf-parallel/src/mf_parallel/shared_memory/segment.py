"""The memory that all processes of a job map, where they run on one machine. Loads no framework."""

import ctypes
import logging
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mf_parallel.compiled import compiled_library
from mf_parallel.launch import patience_s

SWITCH = "MF_SHARED_MEMORY"
"""Environment variable: 0 lets processes of one machine add up by MindSpore's AllReduce."""

FOLDER = Path("/dev/shm")
"""Where the segment has a name until all have mapped it."""

_SOURCES = Path(__file__).parent / "source"
_MOST_RANKS = 64
"""Of a job: a group of ranks is a mask of 64 bits."""

_TOKEN_PARTS, _PART_BITS = 4, 16
"""A token of 64 bits travels in floats, which hold integers up to 24 bits."""

_READY, _OFF = 0, -1

_log = logging.getLogger(__name__)

Sum = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""Element by element over all ranks of the job."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Memory that all processes of the job have mapped.

    Attributes:
        library: path of the compiled operators, which know the segment.
    """

    library: Path

    def group(self, ranks: Sequence[int]) -> int:
        """The number of a group in the segment, the same for all of its members.

        Args:
            ranks: its members.

        Raises:
            RuntimeError: if there are more groups than the segment has room for.
        """
        number = int(_functions(self.library).mf_segment_group(sum(1 << rank for rank in ranks)))
        if number < 0:
            raise RuntimeError(f"no room for a group of the ranks {list(ranks)} in the shared memory of this job")
        return number


def open_segment(rank: int, size: int, sum_over_job: Sum) -> Segment | None:
    """Map one segment in all processes of a job; all of them call it together.

    The segment has a name only until all have mapped it, so nothing is left behind, however the processes end.

    Args:
        rank: this process.
        size: number of processes.
        sum_over_job: by another way than shared memory.

    Returns:
        The segment; None, on all ranks, where one of them can't map it: they run on several machines, there is no C++
        compiler, or no room. Rank 0 says why.
    """

    def agree(own: int) -> list[int]:
        """The statuses of all ranks."""
        return _gather(own, rank, size, sum_over_job)

    library = None if _is_off() or size > _MOST_RANKS else compiled_library(_SOURCES, "sums")
    words = [secrets.randbits(_PART_BITS) for _ in range(_TOKEN_PARTS)] if rank == 0 else [0] * _TOKEN_PARTS
    given = np.zeros(size + _TOKEN_PARTS, np.float32)
    given[rank], given[size:] = library is None, words
    said = sum_over_job(given)
    if library is None or said[:size].any():
        missing = f"{size} processes, at most {_MOST_RANKS}" if size > _MOST_RANKS else "no library is compiled for it"
        _say_why(rank, "" if _is_off() else missing)
        return None
    token = sum(int(word) << (_PART_BITS * place) for place, word in enumerate(said[size:]))
    path = FOLDER / f"mf-{token:016x}"
    try:
        made = agree(_map(library, path, token, rank, size) if rank == 0 else _READY)
        if any(made):
            _say_why(rank, os.strerror(made[0]))
            return None
        found = agree(_map(library, path, token, rank, size) if rank > 0 else _READY)
    finally:
        if rank == 0:
            path.unlink(missing_ok=True)
    if any(found):
        _say_why(rank, "not all processes see the same shared memory")
        return None
    _functions(library).mf_segment_complete()
    return Segment(library)


def _is_off() -> bool:
    return os.environ.get(SWITCH) == "0"


def _say_why(rank: int, why: str) -> None:
    if rank == 0 and why:
        _log.warning("sums over processes take MindSpore's AllReduce and not shared memory, which is faster: %s", why)


def _gather(own: int, rank: int, size: int, sum_over_job: Sum) -> list[int]:
    statuses = np.zeros(size + _TOKEN_PARTS, np.float32)
    statuses[rank] = own
    return [int(status) for status in sum_over_job(statuses)[:size]]


def _map(library: Path, path: Path, token: int, rank: int, size: int) -> int:
    """0, or the number of the error; rank 0 creates the segment."""
    name = os.fsencode(path)
    return int(_functions(library).mf_segment_open(name, rank == 0, token, size, rank, patience_s()))


def _functions(library: Path) -> ctypes.CDLL:
    """MindSpore opens the same file for its operators, and the loader gives both one instance."""
    functions = ctypes.CDLL(str(library))
    functions.mf_segment_open.argtypes = (
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_uint64,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
    )
    functions.mf_segment_group.argtypes = (ctypes.c_uint64,)
    return functions
