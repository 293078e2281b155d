"""This process among the processes of its run."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from mf_config import RunConfig
from mf_parallel.collectives import Communicator, connect
from mf_parallel.process_group import ProcessGroup
from mf_train.process_count import check_process_count


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

    def wait_for_all(self) -> None:
        """Return when every process has come here."""
        self.communicator.barrier()

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
    connect(group)
    return Processes(group.rank, group.size, Communicator(group.rank, range(group.size)))
