"""The command that starts this machine's processes of one program. Loads no framework."""

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mf_config.problems import UserError

_PATIENCE_NAME = "MS_CPU_COMM_OP_TIMEOUT"
_PATIENCE = {_PATIENCE_NAME: "3600"}
"""Seconds that a process waits for another one in a collective on CPU. MindSpore 2.10 gives up after 30 s, but one
process may compile longer than another; that one has died is noticed by its launcher."""

SHARED_PORT = 8118
"""The TCP port that machines agree on where none is named; msrun's own."""

_LOCALHOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Machine:
    """One of the machines that share the processes of a job, each as many.

    Attributes:
        rank: number of this machine, from 0; the first one is where the processes find each other.
        workers: processes that this machine starts.
        master_address: name or IP address of the first machine.
        master_port: TCP port there, the same on all machines.
    """

    rank: int
    workers: int
    master_address: str
    master_port: int = SHARED_PORT

    @property
    def first_rank(self) -> int:
        """Rank of the first process of this machine."""
        return self.rank * self.workers

    def check(self, workers: int) -> None:
        """Refuse machines that don't make up a job.

        Args:
            workers: number of processes of the job.

        Raises:
            UserError: the processes don't spread evenly, or there is no machine of this number.
        """
        machines, rest = divmod(workers, self.workers)
        if rest or machines < 2:
            raise UserError(
                f"launch: {workers} workers, of which {self.workers} on each machine. "
                "Allowed: as many on each of two or more machines."
            )
        if not 0 <= self.rank < machines:
            raise UserError(f"launch: machine {self.rank} of {machines}. Allowed: 0 to {machines - 1}.")


def msrun_command(
    program: Sequence[str], workers: int, log_dir: Path, port: int = 0, machine: Machine | None = None
) -> list[str]:
    """The msrun command line for one machine.

    Args:
        program: what Python runs in every process: a script and its arguments, or `-m`, a module and its arguments.
        workers: number of processes, on all machines together.
        log_dir: folder of `worker_N.log` and `scheduler.log`; rank 0's log is shown as it is written.
        port: TCP port by which the processes of one machine find each other; 0 takes a free one.
        machine: this machine among several; None where all processes run on this one.

    Returns:
        The words of the command. It ends when all processes do, with status 0 if all went well; run it in
        `msrun_environment()`.

    Raises:
        UserError: if there is nothing to run, or no process to run it, or the machines don't make up a job.
    """
    if workers < 1 or not program:
        raise UserError(f"launch: {workers} workers for {list(program)}. Allowed: at least one worker and a program.")
    local: tuple[str, ...]
    if machine is None:
        local = (
            *("--local_worker_num", str(workers)),
            *("--master_addr", _LOCALHOST, "--master_port", str(port or free_port())),
        )
    else:
        machine.check(workers)
        local = (
            *("--local_worker_num", str(machine.workers), "--node_rank", str(machine.rank)),
            *("--master_addr", machine.master_address, "--master_port", str(machine.master_port)),
        )
    return [
        *(sys.executable, "-m", "mindspore.parallel.cluster.run", "--worker_num", str(workers), *local),
        *("--log_dir", str(log_dir), "--join", "True", "--tail_worker_log", "0"),
        *("python", *program),
    ]


def msrun_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment for `msrun_command`.

    Args:
        environment: variables to start from.

    Returns:
        A copy in which this interpreter's folder leads the search path, because msrun starts whatever is called
        `python`, and processes wait for each other as long as one may compile.
    """
    folder = str(Path(sys.executable).parent)
    path = environment.get("PATH", "")
    return {**_PATIENCE, **environment, "PATH": f"{folder}{os.pathsep}{path}" if path else folder}


def patience_s(environment: Mapping[str, str] = os.environ) -> int:
    """Seconds that a process waits for another one in a collective on CPU.

    Args:
        environment: variables of the process.
    """
    given = environment.get(_PATIENCE_NAME, "")
    return int(given if given.isdecimal() else _PATIENCE[_PATIENCE_NAME])


def free_port() -> int:
    """A TCP port of this machine that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind((_LOCALHOST, 0))
        port: int = probe.getsockname()[1]
        return port
