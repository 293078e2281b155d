"""This process among the processes of its run."""

from collections.abc import Sequence
from dataclasses import dataclass

from mf_config import RunConfig, UserError
from mf_parallel.collectives import Communicator, connect
from mf_parallel.process_group import ProcessGroup


@dataclass(frozen=True, slots=True)
class Processes:
    """The data-parallel processes of a run, seen from one of them.

    Attributes:
        rank: number of this process.
        size: how many there are.
        communicator: what they talk through.
    """

    rank: int
    size: int
    communicator: Communicator

    @property
    def is_main(self) -> bool:
        """Whether this process writes the run's files and its log on the terminal."""
        return self.rank == 0

    def sum(self, values: Sequence[float]) -> list[float]:
        """Element by element, the sum of all processes' numbers, in float64."""
        return [sum(column) for column in zip(*self.communicator.gather(list(values)), strict=True)]

    def any(self, flag: bool) -> bool:
        """Whether any process raises the flag; every process gets the same answer."""
        return flag if self.size == 1 else any(self.communicator.gather(flag))


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
    degree = config.parallel_config.data_parallel
    if group.size > 1 and not config.use_parallel:
        raise UserError(f"use_parallel: False, but {group.size} processes were started. Allowed: True")
    if config.use_parallel and degree not in (1, group.size):
        what = f"{degree}, but {group.size} processes were started"
        raise UserError(f"parallel_config.data_parallel: {what}. Allowed: {group.size}, or 1 for all of them")
    connect(group)
    return Processes(group.rank, group.size, Communicator(group.rank, range(group.size)))
