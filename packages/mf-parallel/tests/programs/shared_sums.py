"""Sums over several groups of ranks at once: `FOLDER [native|killed]`; each rank leaves `rank_N.npz` in the folder.

With `native` there is no place for shared memory; with `killed` rank 1 ends in the middle of it all.
"""

import os
import signal
import sys
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

from mf_parallel.collectives import AllGather, Communicator, ReduceScatter, connect
from mf_parallel.process_group import ProcessGroup
from mf_parallel.regions import Enter, Leave
from mf_parallel.shared_memory import segment

CHUNK = 64 * 1024
SHAPES = ((), (1,), (3, 5), (CHUNK,), (CHUNK + 1,), (5, CHUNK // 2 + 7), (0,))
GROUPS = ((0, 1, 2, 3), (0, 1), (2, 3), (0, 1, 2))
REPEATS = 60
"""MindSpore tries other ways to run a small graph after 30 runs, and again after 40."""


class Sums(nn.Cell):
    """Sums of many sizes over several groups, none of which needs another."""

    def __init__(self, communicators: list[Communicator]):
        super().__init__()
        self.sums = nn.CellList([communicator.sum_cell for communicator in communicators])

    def construct(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        found: tuple[Tensor, ...] = ()
        for cell in self.sums:
            for tensor in tensors:
                found += (cell(tensor),)
        return found


class Divided(nn.Cell):
    """A layer whose inner width is divided among ranks: the sum of (x a)² b, several times without any order."""

    def __init__(self, communicator: Communicator, a: np.ndarray, b: np.ndarray):
        super().__init__()
        self.a, self.b = ms.Parameter(Tensor(a), name="a"), ms.Parameter(Tensor(b), name="b")
        self.enters = nn.CellList([Enter(communicator) for _ in range(3)])
        self.leaves = nn.CellList([Leave(communicator) for _ in range(3)])

    def construct(self, x: Tensor) -> Tensor:
        total = ops.zeros((), ms.float32)
        for number in range(3):
            inner = ops.square(ops.matmul(self.enters[number](x), self.a) * (number + 1))
            # `total += …` would have a wrong gradient in MindSpore 2.10.
            total = total + self.leaves[number](ops.matmul(inner, self.b)).sum()
        return total


class Moved(nn.Cell):
    """What a gather and a reduction with division give."""

    def __init__(self, communicator: Communicator):
        super().__init__()
        self.gather, self.scatter = AllGather(communicator, 1), ReduceScatter(communicator, 0)

    def construct(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.gather(x), self.scatter(x)


def tensors_of(rank: int) -> list[np.ndarray]:
    """The same on every call, and others on every rank."""
    draws = np.random.default_rng(rank)
    return [np.asarray(draws.standard_normal(shape), np.float32) for shape in SHAPES]


def main(folder: Path, how: str) -> None:
    processes = ProcessGroup.from_environment()
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_device("CPU")
    if how == "native":
        segment.FOLDER = folder / "missing"
    connect(processes)
    rank, everyone = processes.rank, tuple(range(processes.size))
    groups = [ranks for ranks in GROUPS if rank in ranks and set(ranks) <= set(everyone)]
    communicators = [Communicator(rank, ranks) for ranks in groups]
    tensors = tensors_of(rank)
    if how == "native":
        tensors = [tensor for tensor in tensors if tensor.size]
    sums = Sums(communicators)
    for number in range(1 if how == "native" else REPEATS):
        if how == "killed" and rank == 1 and number == REPEATS // 2:
            os.kill(os.getpid(), signal.SIGKILL)
        found = sums(*map(Tensor, tensors))
    arrays = {f"{place}_{item}": tensor.asnumpy() for place, item, tensor in numbered(found, len(tensors))}
    arrays["half"] = sums(Tensor(tensors[2].astype(np.float16)))[0].asnumpy()
    whole = Communicator(rank, everyone)
    draws = np.random.default_rng(99)
    x, a, b = (draws.standard_normal(shape).astype(np.float32) for shape in ((2, 3), (3, 8), (8, 3)))
    width = 8 // processes.size
    own = slice(rank * width, (rank + 1) * width)
    layer = Divided(whole, np.ascontiguousarray(a[:, own]), b[own])
    loss, (dx, (da, db)) = ms.value_and_grad(layer, 0, ms.ParameterTuple(layer.trainable_params()))(Tensor(x))
    arrays |= {name: value.asnumpy() for name, value in (("loss", loss), ("dx", dx), ("da", da), ("db", db))}
    arrays["gathered"], arrays["scattered"] = (
        value.asnumpy() for value in Moved(whole)(Tensor(tensors_of(rank)[3].reshape(4, -1)))
    )
    arrays["names"] = np.array([str(path) for path in segment.FOLDER.glob("mf-*")])
    np.savez(folder / f"rank_{rank}.npz", **arrays)


def numbered(found: tuple[Tensor, ...], count: int) -> list[tuple[int, int, Tensor]]:
    """Results with the places of their group and of their tensor."""
    return [(*divmod(number, count), tensor) for number, tensor in enumerate(found)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
