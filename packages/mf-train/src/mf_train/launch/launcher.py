"""Starts one command in several processes through msrun, and brings signals, errors and exit statuses through it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from mf_config.command_line import FAILURE, OK, USER_ERROR
from mf_parallel.launch import Machine, msrun_command, msrun_environment
from mf_train.launch.lifeline import Lifeline
from mf_train.launch.signals import StopRequest
from mf_train.launch.worker_output import Follower, WorkerLogs
from mf_train.records.output import OutputFolder

_POLL_S = 0.2
_ERRORS_ONLY = "3"
"""Value of GLOG_v: at MindSpore's own level every start of a process logs dozens of warnings about connections."""

_FAILED = re.compile(r"Worker process (\d+) exit with exception\. Error code: (-?\d+)")
"""How msrun tells of a process that failed; its own exit status is 1 whatever happened."""

_WORKER = b"MS_ROLE=MS_WORKER"
"""What msrun puts into the environment of a worker."""

_RANK = b"RANK_ID="


@dataclass(slots=True)
class _Running:
    """An msrun that works.

    Attributes:
        msrun: the process.
        said: its log.
        ranks: rank of each worker process, by process id; msrun tells of workers by their process ids alone.
    """

    msrun: subprocess.Popen[bytes]
    said: Path
    ranks: dict[int, int] = field(default_factory=dict)

    def look_for_workers(self) -> None:
        """Note the workers that are there; Linux keeps parent and environment of each process under /proc."""
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                # The name, in parentheses, may hold spaces; state, parent and group follow it. A worker leads a group.
                _, parent, group, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
                is_leader = int(parent) == self.msrun.pid and group == folder.name
                variables = (folder / "environ").read_bytes().split(b"\0") if is_leader else []
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
            if _WORKER in variables:
                rank = next(word for word in variables if word.startswith(_RANK))
                self.ranks[int(folder.name)] = int(rank.removeprefix(_RANK))

    def ask_to_stop(self) -> None:
        """Send each worker the signal that lets it save."""
        for worker in self.ranks:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGTERM)

    def end(self) -> None:
        """End all processes that are left."""
        if self.msrun.poll() is None:
            self.msrun.send_signal(signal.SIGINT)
            self.msrun.wait()


def launch(program: Sequence[str], workers: int, output: OutputFolder, machine: Machine | None = None) -> int:
    """Run a Python program in several processes; standard output shows what the first one of this machine says.

    Ctrl-C and SIGTERM go on to the workers as a request to stop; given twice, they end everything at once. A process
    that fails ends all others, also those on other machines, and its error is shown.

    Args:
        program: `-m`, a module and its arguments.
        workers: number of processes, on all machines together.
        output: in its folder of logs come `worker_N.log` and `msrun.log`.
        machine: this machine among several; None where all processes run on this one.
    Returns:
        2 where a process ended with a user's mistake, 1 where one failed otherwise, else 0.
    Raises:
        UserError: the machines don't make up a job, or nothing can be written to the output.
    """
    log_dir = output.log(0).parent
    logs = WorkerLogs(log_dir, machine.first_rank if machine else 0, machine.rank if machine else 0)
    line = msrun_command(program, workers, log_dir, machine=machine)
    output.make()
    logs.first.unlink(missing_ok=True)
    with logs.msrun.open("wb") as sink:
        running = _Running(
            subprocess.Popen(
                line,
                env={"GLOG_v": _ERRORS_ONLY, **msrun_environment()},
                stdout=subprocess.DEVNULL,
                stderr=sink,
                # A session of its own, because msrun answers Ctrl-C by killing the workers.
                start_new_session=True,
            ),
            logs.msrun,
        )
    follower, lifeline, status = Follower(logs.first), Lifeline(machine) if machine else None, FAILURE
    try:
        status = _wait(running, machine.workers if machine else workers, follower, lifeline)
    finally:
        if lifeline is not None:
            lifeline.end(well=status == OK)
        running.end()
        follower.show()
    if lifeline is not None and lifeline.is_broken:
        sys.stderr.write("mf-train: another machine has failed; all processes have been stopped.\n")
        return FAILURE
    failures = [(int(process), int(code)) for process, code in _FAILED.findall(logs.msrun.read_text(errors="replace"))]
    if status == 0 and not failures:
        return OK
    _tell(failures, running.ranks, logs)
    return USER_ERROR if USER_ERROR in (code for _, code in failures) else FAILURE


def _wait(running: _Running, workers: int, follower: Follower, lifeline: Lifeline | None) -> int:
    """Exit status of msrun, 1 as soon as it tells of a failed worker: it then waits half a minute for its scheduler.

    Or as soon as another machine has failed. Meanwhile show the first worker's output, and pass a request to stop on,
    once.
    """
    with StopRequest() as stop:
        asked = False
        while True:
            status = running.msrun.poll()
            follower.show()
            if status is not None:
                return status
            if lifeline is not None and lifeline.look():
                return FAILURE
            if _FAILED.search(running.said.read_text(errors="replace")):
                return FAILURE
            if len(running.ranks) < workers:
                running.look_for_workers()
            elif stop.made and not asked:
                asked = True
                running.ask_to_stop()
            time.sleep(_POLL_S)


def _tell(failures: Sequence[tuple[int, int]], ranks: dict[int, int], logs: WorkerLogs) -> None:
    """Say on the terminal which process failed, and what it said."""
    for process, code in failures:
        rank = ranks.get(process)
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        if rank is None:
            sys.stderr.write(f"mf-train: a process {how}; all of them have been stopped. See {logs.folder}.\n")
            continue
        error = logs.error_of(rank)
        sys.stderr.write(f"{error}\n" * bool(error))
        sys.stderr.write(f"mf-train: rank {rank} {how}; all processes have been stopped. See {logs.of(rank)}.\n")
    if not failures:
        sys.stderr.write(f"mf-train: the processes could not be started. See {logs.msrun}.\n")
