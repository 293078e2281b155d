"""The command that starts several local processes of one program. Loads no framework."""

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from mf_config.problems import UserError

_PATIENCE = {"MS_CPU_COMM_OP_TIMEOUT": "3600"}
"""Seconds that a process waits for another one in a collective on CPU. MindSpore 2.10 gives up after 30 s, but one
process may compile longer than another; that one has died is noticed by its launcher."""


def msrun_command(program: Sequence[str], workers: int, log_dir: Path, port: int = 0) -> list[str]:
    """The msrun command line for one machine.

    Args:
        program: what Python runs in every process: a script and its arguments, or `-m`, a module and its arguments.
        workers: number of processes.
        log_dir: folder of `worker_N.log` and `scheduler.log`; rank 0's log is shown as it is written.
        port: TCP port by which the processes find each other; 0 takes a free one.

    Returns:
        The words of the command. It ends when all processes do, with status 0 if all went well; run it in
        `msrun_environment()`.

    Raises:
        UserError: if there is nothing to run, or no process to run it.
    """
    if workers < 1 or not program:
        raise UserError(f"launch: {workers} workers for {list(program)}. Allowed: at least one worker and a program.")
    return [
        *(sys.executable, "-m", "mindspore.parallel.cluster.run"),
        *("--worker_num", str(workers), "--local_worker_num", str(workers)),
        *("--master_addr", "127.0.0.1", "--master_port", str(port or free_port())),
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


def free_port() -> int:
    """A TCP port of this machine that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
