"""This process among the processes of its run."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mf_config import RunConfig
from mf_config.layout import Mesh
from mf_parallel.axes import AxisCommunicators
from mf_parallel.collectives import connect
from mf_parallel.plan import TOKEN_AXES
from mf_parallel.process_group import ProcessGroup
from mf_train.layout.plans import mesh_of
from mf_train.layout.process_count import check_process_count

_ROW_AXES = ("dp", "ep")
"""Axes of the mesh along which processes read different rows."""


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes of a run, seen from one of them.

    Attributes:
        axes: this process's place on the mesh, and what it talks through.
    """

    axes: AxisCommunicators

    @classmethod
    def alone(cls) -> "Processes":
        """A run of one process."""
        return cls(AxisCommunicators(Mesh.of(), 0))

    @property
    def rank(self) -> int:
        """Number of this process."""
        return self.axes.rank

    @property
    def size(self) -> int:
        """How many processes there are."""
        return self.axes.mesh.size

    @property
    def is_main(self) -> bool:
        """Whether this process writes the run's files and its log on the terminal."""
        return self.rank == 0

    @property
    def row_group(self) -> int:
        """Number of the group of processes to which this one belongs, all of which read the same rows."""
        return self.axes.position(*_ROW_AXES)

    @property
    def row_groups(self) -> int:
        """How many such groups there are."""
        return self.axes.degree(*_ROW_AXES)

    def sum(self, values: Sequence[float]) -> list[float]:
        """Element by element, the sum of the numbers of processes with different tokens or stages, in float64."""
        return [sum(column) for column in zip(*self.axes.along("pp", *TOKEN_AXES).gather(list(values)), strict=True)]

    def sum_array(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """As `sum`, for many numbers at once: an array of one shape on all processes, added up in float32."""
        return self.axes.along("pp", *TOKEN_AXES).all_reduce_sum(values)

    def any(self, flag: bool) -> bool:
        """Whether any process raises the flag; every process gets the same answer."""
        return flag if self.size == 1 else any(self.axes.everyone.gather(flag))

    def of_main(self, text: str) -> str:
        """The text that the main process gives; every process must call it, and gets the same answer."""
        return self.axes.everyone.gather(text)[0]

    def wait_for_all(self) -> None:
        """Return when every process has come here."""
        self.axes.everyone.barrier()

    @contextmanager
    def main_first(self) -> Iterator[None]:
        """The main process goes through the block first, the others after it; every process must come here."""
        if not self.is_main:
            self.wait_for_all()
        try:
            yield
        finally:
            # Also after a failure: the others would wait for ever.
            if self.is_main:
                self.wait_for_all()


def join_processes(config: RunConfig) -> Processes:
    """Meet the other processes that the launcher started.

    Args:
        config: the run configuration.
    Returns:
        The processes of the run. The launcher's scheduler process ends in this call.
    Raises:
        UserError: the number of processes does not fit the configuration.
    """
    group = ProcessGroup.from_environment()
    check_process_count(config, group.size)
    mesh = mesh_of(config, group.size)
    connect(group)
    return Processes(AxisCommunicators(mesh, group.rank))
