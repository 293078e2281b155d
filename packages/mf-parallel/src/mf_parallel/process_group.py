"""Which process of a job this is, from the environment that msrun sets. Loads no framework."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from mf_config.problems import UserError

_ROLE, _RANK, _SIZE = "MS_ROLE", "RANK_ID", "MS_WORKER_NUM"
"""Variables that msrun gives to every process it starts."""

_SCHEDULER = "MS_SCHED"


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """The processes of one job, seen from one of them.

    Attributes:
        rank: number of this process, 0 to size - 1.
        size: number of worker processes.
        is_scheduler: whether this is the extra process by which the workers find each other. It runs the same program,
            ends inside `mf_parallel.collectives.connect`, and must leave no trace before that.
    """

    rank: int = 0
    size: int = 1
    is_scheduler: bool = False

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Read the job that this process belongs to.

        Args:
            environment: variables of the process.

        Returns:
            The group; a single process where msrun did not start it.

        Raises:
            UserError: if a number is missing or makes no sense. The ranks of several machines are known only if every
                msrun gets `--node_rank`.
        """
        role = environment.get(_ROLE, "")
        if not role:
            return cls()
        size = _number(environment, _SIZE, 1)
        if role == _SCHEDULER:
            return cls(0, size, is_scheduler=True)
        rank = _number(environment, _RANK, 0)
        if rank >= size:
            raise UserError(f"environment: {_RANK} {rank} with {_SIZE} {size}. Allowed: 0 to {size - 1}.")
        return cls(rank, size)


def _number(environment: Mapping[str, str], name: str, least: int) -> int:
    text = environment.get(name, "")
    if not text.isdecimal() or int(text) < least:
        raise UserError(
            f"environment: {name} is {text!r}. Allowed: a whole number from {least}, as msrun sets it "
            "(on several machines, start each msrun with --node_rank)."
        )
    return int(text)
