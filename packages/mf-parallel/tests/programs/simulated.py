"""What the simulated process of a test does."""

import os
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.communication import get_group_size, get_rank

from mf_parallel.collectives import AllGather, AllToAll, Communicator, ReduceScatter
from mf_parallel.simulation.graphs import compile_graph


class Sum(nn.Cell):
    """The sum over ranks of a normed input."""

    def __init__(self) -> None:
        super().__init__()
        self.all_reduce = ops.AllReduce()

    def construct(self, x: Tensor) -> Tensor:
        return self.all_reduce(ops.rms_norm(x, x[0], 1e-5)[0])


class Twice(nn.Cell):
    """Two tensors as large as the input, which stays."""

    def construct(self, x: Tensor) -> Tensor:
        return ops.exp(ops.sin(x))


class Redistribution(nn.Cell):
    """Every way in which tensors travel between the ranks of a group; [rows, columns] stays as it is."""

    def __init__(self, communicator: Communicator) -> None:
        super().__init__()
        self.gather = AllGather(communicator, 1)
        self.scatter = ReduceScatter(communicator, 1)
        self.forth = AllToAll(communicator, 0, 1)
        self.back = AllToAll(communicator, 1, 0)

    def construct(self, x: Tensor) -> Tensor:
        return self.back(self.forth(self.scatter(self.gather(x))))


def compile_redistribution(rows: int, columns: int) -> dict[str, int]:
    communicator = Communicator(get_rank(), (1, 3))
    graph = compile_graph(Redistribution(communicator), Tensor(np.zeros((rows, columns), np.float32)))
    return dict(graph.operators())


def compile_sum(width: int) -> dict[str, Any]:
    graph = compile_graph(Sum(), Tensor(np.zeros((2, width), np.float32)))
    return {"rank": get_rank(), "size": get_group_size(), "operators": dict(graph.operators())}


def peak_of(width: int) -> int:
    Twice()(Tensor(np.zeros((width, width), np.float32)))
    return int(ms.runtime.max_memory_allocated())


def fail() -> None:
    raise ValueError("there is no such layer")


def die() -> None:
    os._exit(3)
