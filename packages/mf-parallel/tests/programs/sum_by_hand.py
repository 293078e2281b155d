"""One of two ranks that add up without MindSpore: `RANK FOLDER LENGTH SUMS [PATIENCE]`; prints its last sum.

They agree on their memory by files in the folder.
"""

import ctypes
import os
import sys
import time
from pathlib import Path

import numpy as np

from mf_parallel.shared_memory.segment import Segment, open_segment

SIZE = 2


class Files:
    """Sums through files."""

    def __init__(self, rank: int, folder: Path):
        self.rank, self.folder, self.number = rank, folder, 0

    def __call__(self, values: np.ndarray) -> np.ndarray:
        self.number += 1
        own = self.folder / f"{self.number}_{self.rank}.npy"
        np.save(own.with_suffix(".part.npy"), values)
        own.with_suffix(".part.npy").rename(own)
        paths = [self.folder / f"{self.number}_{rank}.npy" for rank in range(SIZE)]
        while not all(path.exists() for path in paths):
            time.sleep(0.01)
        return sum(np.load(path) for path in paths)


def shared_sum(found: Segment, group: int, values: np.ndarray) -> np.ndarray:
    """As MindSpore calls the operator."""
    out, number = np.zeros_like(values), np.array([group], np.float32)
    tensors = (ctypes.c_void_p * 3)(values.ctypes.data, number.ctypes.data, out.ctypes.data)
    dims, shape = (ctypes.c_int * 3)(1, 1, 1), (ctypes.c_int64 * 1)(values.size)
    shapes = (ctypes.c_void_p * 3)(*([ctypes.addressof(shape)] * 3))
    status = ctypes.CDLL(str(found.library)).mf_shared_sum(3, tensors, dims, shapes, None, None, None)
    assert status == 0
    return out


def main(rank: int, folder: Path, length: int, sums: int) -> None:
    found = open_segment(rank, SIZE, Files(rank, folder))
    if found is None:
        sys.stdout.write("none\n")
        return
    group = found.group(range(SIZE))
    for number in range(sums):
        total = shared_sum(found, group, np.full(length, number + rank, np.float32))
    sys.stdout.write(f"{total.min()} {total.max()}\n")


if len(sys.argv) > 5:
    os.environ["MS_CPU_COMM_OP_TIMEOUT"] = sys.argv[5]
main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
