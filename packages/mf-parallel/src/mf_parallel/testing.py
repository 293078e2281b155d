"""Runs a program in several local processes and collects what they say: for tests of code that communicates.

A run always ends: after a failure or the timeout every process that it started is killed, whatever session it is in.
"""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mf_parallel.launch import msrun_command, msrun_environment
from mf_parallel.worker_logs import last_traceback

_POLL_S = 0.2

_WORKER_FAILED = "exit with exception"
"""What msrun says of a worker that failed. It then waits for the scheduler, which takes half a minute to notice."""


@dataclass(frozen=True, slots=True)
class ProcessesResult:
    """What several processes did.

    Attributes:
        exit_status: status of msrun: 0 if all processes went well; 1 if one failed; None after a timeout.
        outputs: standard output and error of each rank.
        first_traceback: the traceback of the rank that failed first; empty where none did.
    """

    exit_status: int | None
    outputs: tuple[str, ...]
    first_traceback: str


def run_processes(program: Sequence[str], workers: int, directory: Path, timeout_s: float = 60.0) -> ProcessesResult:
    """Run a Python program under msrun.

    Args:
        program: what Python runs in every process: a script and its arguments, or `-m`, a module and its arguments.
        workers: number of processes.
        directory: working directory of the processes; gets a `log` folder.
        timeout_s: seconds after which all of them are killed.

    Returns:
        Exit status, outputs and the first traceback.

    Raises:
        UserError: if there is nothing to run, or no process to run it.
    """
    logs = directory / "log"
    command = msrun_command(program, workers, logs)
    said = directory / "msrun.log"
    with said.open("wb") as sink:
        msrun = subprocess.Popen(command, cwd=directory, env=msrun_environment(), stdout=sink, stderr=sink)
        try:
            exit_status = _wait(msrun, said, time.monotonic() + timeout_s)
        finally:
            _kill(msrun)
    paths = [logs / f"worker_{rank}.log" for rank in range(workers)]
    outputs = [path.read_text(errors="replace") if path.exists() else "" for path in paths]
    traceback = "" if exit_status == 0 else _first_traceback(paths)
    return ProcessesResult(exit_status, tuple(outputs), traceback)


def _wait(msrun: subprocess.Popen[bytes], said: Path, deadline: float) -> int | None:
    """Exit status of msrun, 1 as soon as it reports a failed worker, None at the deadline."""
    while time.monotonic() < deadline:
        status = msrun.poll()
        if status is not None:
            return status
        if _WORKER_FAILED in said.read_text(errors="replace"):
            return 1
        time.sleep(_POLL_S)
    return None


def _kill(msrun: subprocess.Popen[bytes]) -> None:
    """Kill msrun and all processes below it; each worker leads a session of its own, so no group holds them all."""
    if msrun.poll() is None:
        for pid in (*_descendants(msrun.pid), msrun.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        msrun.wait()


def _descendants(ancestor: int) -> list[int]:
    """All processes that a process started, and those that they started."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                # The name, in parentheses, may hold spaces; state and parent follow it.
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
    found = [ancestor]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found[1:]


def _first_traceback(paths: Sequence[Path]) -> str:
    """The last traceback of the log that was finished first, as the other ranks fail because of it."""
    written = sorted((path for path in paths if path.exists()), key=lambda path: path.stat().st_mtime_ns)
    for path in written:
        traceback = last_traceback(path.read_text(errors="replace"))
        if traceback:
            return traceback
    return ""
