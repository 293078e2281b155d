"""Communication among processes: the only module that knows what a back end lacks.

On CPU, MindSpore 2.10 offers AllReduce with sum, in float32 and float16, in any group, and little else. Everything
here is built from it where it has to be, so it works everywhere. Where all processes of a job run on one machine, that
sum goes through shared memory. None of these cells has a gradient; those that stand in a model, with theirs, are in
`mf_parallel.regions`.
"""

import json
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

import mindspore as ms
import numpy as np
from mindspore import Tensor, mint, nn, ops
from mindspore.communication import GlobalComm, create_group, get_group_size, init
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_parallel.process_group import ProcessGroup
from mf_parallel.shared_memory.operator import SharedSum, ordered_graphs
from mf_parallel.shared_memory.segment import Segment, open_segment

_Value = TypeVar("_Value")

_slice = ops.Slice()

_segments: list[Segment] = []
"""The shared memory of the job; none where there is no such thing."""


def connect(processes: ProcessGroup) -> None:
    """Join the processes of the job; call it once, before any graph is compiled.

    A job of one process needs no connection. The scheduler process ends here, when all workers have ended.

    Args:
        processes: the job, from `ProcessGroup.from_environment()`.
    """
    if processes.size == 1:
        return
    init()
    if ms.get_context("device_target") == "CPU" and not _segments:
        over_job = _NativeSum(str(GlobalComm.WORLD_COMM_GROUP))
        segment = open_segment(processes.rank, processes.size, over_job.of_array)
        if segment is not None:
            _segments.append(segment)
            ordered_graphs()


class _NativeSum(nn.Cell):
    """MindSpore's own sum over a group."""

    def __init__(self, group_name: str):
        super().__init__()
        self.reduce = ops.AllReduce(ops.ReduceOp.SUM, group_name)

    def construct(self, x: Tensor) -> Tensor:
        return self.reduce(x)

    def of_array(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The sum over the members' arrays."""
        return np.asarray(self(ms.Tensor(values)).asnumpy())


class AllReduceSum(nn.Cell):
    """Sum of a tensor over the ranks of a group; the tensor itself in a group of one."""

    def __init__(self, ranks: tuple[int, ...]):
        """Takes the members, this process among them."""
        super().__init__()
        self.reduce = _sum_over(ranks)

    def construct(self, x: Tensor) -> Tensor:
        """Add up the ranks' tensors.

        Args:
            x: any shape, float32 or float16; the same on all ranks.

        Returns:
            The sum, of the same shape and dtype, on every rank.
        """
        return self.reduce(x)


class Communicator:
    """A group of ranks, seen from one of them. All members call the same methods in the same order.

    Attributes:
        ranks: the members, ascending.
        size: how many there are.
        position: this rank's number among them.
        name: MindSpore's name of the group; empty for one rank, and where sums go through shared memory.
        sum_cell: the sum over the members, in graph code.
    """

    def __init__(self, rank: int, ranks: Sequence[int]):
        """Form the group.

        Args:
            rank: this process.
            ranks: the members, ascending, as `Mesh.group` gives them; `connect` comes first if there are several.

        Raises:
            UserError: if this process is no member.
        """
        if rank not in ranks:
            raise UserError(f"communicator: rank {rank} is not among {list(ranks)}. Allowed: groups that hold it.")
        self.ranks = tuple(ranks)
        self.size = len(ranks)
        self.position = list(ranks).index(rank)
        self.name = _group_name(self.ranks)
        self.sum_cell = AllReduceSum(self.ranks)

    @property
    def is_native(self) -> bool:
        """Whether the device has every collective for this group; otherwise they are made of sums."""
        return self.size > 1 and ms.get_context("device_target") != "CPU"

    def all_reduce_sum(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Sum of the members' arrays.

        Args:
            values: float32, of the same shape on all members.

        Returns:
            The sum, of that shape, on every member.
        """
        if self.size == 1:
            return values
        return np.asarray(self.sum_cell(ms.Tensor(np.ascontiguousarray(values, np.float32))).asnumpy())

    def barrier(self) -> None:
        """Wait until every member has come here."""
        self.all_reduce_sum(np.zeros(1, np.float32))

    def gather(self, value: _Value) -> list[_Value]:
        """Every member's value.

        Args:
            value: a small value that JSON can hold (numbers, text, lists, objects). Floats arrive bit for bit.

        Returns:
            The values of all members in group order, on every member.
        """
        if self.size == 1:
            return [value]
        payload = np.frombuffer(json.dumps(value).encode(), np.uint8)
        lengths = self._gather_rows(np.array([payload.size], np.float32))[:, 0].astype(int)
        padded = np.zeros(lengths.max(), np.float32)
        padded[: payload.size] = payload
        rows = self._gather_rows(padded).astype(np.uint8)
        return [json.loads(bytes(row[:length])) for row, length in zip(rows, lengths, strict=True)]

    def _gather_rows(self, row: NDArray[np.float32]) -> NDArray[np.float32]:
        """[n] on each member to [size, n] on all: each fills its own row, so every sum has one term and is exact."""
        rows = np.zeros((self.size, row.size), np.float32)
        rows[self.position] = row
        return self.all_reduce_sum(rows)


class AllGather(nn.Cell):
    """The pieces of all ranks of a group, joined along one dimension."""

    def __init__(self, communicator: Communicator, dim: int):
        """Takes the group, and the dimension, from 0."""
        super().__init__()
        self.dim = dim
        self.before = communicator.position
        self.after = communicator.size - 1 - communicator.position
        self.sum = communicator.sum_cell
        self.zeros_like = ops.ZerosLike()
        self.native = ops.AllGather(communicator.name) if communicator.is_native else None

    def construct(self, x: Tensor) -> Tensor:
        """Join the pieces in the group's order.

        Args:
            x: this rank's piece, float32 or float16; the same shape on all ranks.

        Returns:
            The same on every rank; `dim` is as many times longer as there are ranks.
        """
        if self.native is not None:
            # The device joins along the first dimension.
            return self.native(x.swapaxes(0, self.dim)).swapaxes(0, self.dim)
        # Each element of the sum has one term that is not zero, so it is exact.
        zeros = self.zeros_like(x)
        return self.sum(mint.cat((zeros,) * self.before + (x,) + (zeros,) * self.after, self.dim))


class Part(nn.Cell):
    """This rank's piece of what all ranks of a group have; nothing is sent."""

    def __init__(self, communicator: Communicator, dim: int):
        """Takes the group, and the dimension that is cut, from 0."""
        super().__init__()
        self.dim = dim
        self.size = communicator.size
        self.position = communicator.position

    def construct(self, x: Tensor) -> Tensor:
        """Cut one piece out.

        Args:
            x: any shape; the number of ranks divides `dim`.

        Returns:
            The piece at this rank's position in the group.
        """
        length = x.shape[self.dim] // self.size
        return piece(x, self.dim, self.position * length, length)


def piece(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Some neighbouring elements along one dimension, in graph code.

    `mint.narrow` would be a view: in MindSpore 2.10 a graph that takes a view of a parameter, and changes the parameter
    later, computes with wrong values before.

    Args:
        x: any shape.
        dim: the dimension, from 0.
        start: the first element.
        length: how many.

    Returns:
        A new tensor.
    """
    begin = (0,) * dim + (start,) + (0,) * (x.ndim - dim - 1)
    return _slice(x, begin, (*x.shape[:dim], length, *x.shape[dim + 1 :]))


class ReduceScatter(nn.Cell):
    """This rank's piece of the sum over the ranks of a group."""

    def __init__(self, communicator: Communicator, dim: int):
        """Takes the group, and the dimension that is cut, from 0."""
        super().__init__()
        self.dim = dim
        self.sum = communicator.sum_cell
        self.part = Part(communicator, dim)
        self.native = ops.ReduceScatter(ops.ReduceOp.SUM, communicator.name) if communicator.is_native else None

    def construct(self, x: Tensor) -> Tensor:
        """Add up, and keep one piece.

        Args:
            x: float32 or float16, the same shape on all ranks; the number of ranks divides `dim`.

        Returns:
            The piece at this rank's position in the group.
        """
        if self.native is not None:
            # The device cuts along the first dimension.
            return self.native(x.swapaxes(0, self.dim)).swapaxes(0, self.dim)
        return self.part(self.sum(x))


class AllToAll(nn.Cell):
    """From one dimension divided among the ranks of a group to another."""

    def __init__(self, communicator: Communicator, divided: int, joined: int):
        """Takes the group, the dimension that is divided afterwards, and the one that is whole afterwards."""
        super().__init__()
        self.gather = AllGather(communicator, joined)
        self.part = Part(communicator, divided)
        self.native = None
        if communicator.is_native:
            self.native = ops.AlltoAll(communicator.size, divided, joined, communicator.name)

    def construct(self, x: Tensor) -> Tensor:
        """Redistribute.

        Args:
            x: float32 or float16, the same shape on all ranks; the number of ranks divides `divided`.

        Returns:
            The same elements: this rank's piece along `divided`, all pieces along `joined`.
        """
        if self.native is not None:
            # The device takes four dimensions, no fewer.
            wide = x.reshape(x.shape + (1,) * (4 - x.ndim))
            moved = self.native(wide)
            return moved.reshape(moved.shape[: x.ndim])
        return self.part(self.gather(x))


class Transfer(nn.Cell):
    """Moves a tensor between the two ranks of a group."""

    def __init__(self, communicator: Communicator):
        """Takes a group of two."""
        super().__init__()
        self.sum = communicator.sum_cell

    def construct(self, x: Tensor) -> Tensor:
        """Both ranks call it together.

        Args:
            x: what is sent, float32; at the other end zeros of the same shape.

        Returns:
            What was sent, on both ranks.
        """
        return self.sum(x)


def _sum_over(ranks: tuple[int, ...]) -> nn.Cell | ops.Primitive:
    """The quickest sum over a group that there is."""
    if len(ranks) == 1:
        return ops.Identity()
    if _segments:
        return SharedSum(_segments[0], ranks)
    return ops.AllReduce(ops.ReduceOp.SUM, _group_name(ranks))


@cache
def _group_name(ranks: tuple[int, ...]) -> str:
    """MindSpore's name of a group, formed at the first call because it can be formed only once; empty for one rank."""
    if len(ranks) == 1 or _segments:
        return ""
    if len(ranks) == get_group_size():
        return str(GlobalComm.WORLD_COMM_GROUP)
    name = f"mf-{'-'.join(map(str, ranks))}"
    create_group(name, list(ranks))
    return name
