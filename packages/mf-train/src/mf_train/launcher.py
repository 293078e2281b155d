"""Starts one command in several local processes through msrun, and brings signals and exit statuses through it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mf_config.command_line import FAILURE, OK, USER_ERROR
from mf_parallel.launch import msrun_command, msrun_environment
from mf_train.signals import StopRequest

_POLL_S = 0.2
_ERRORS_ONLY = "3"
"""Value of GLOG_v: at MindSpore's own level every start of a process logs dozens of warnings about connections."""

_STATUS = re.compile(r"exit with exception\. Error code: (-?\d+)")
"""How msrun tells of a process that failed; its own exit status is 1 whatever happened."""

_WORKER = b"MS_ROLE=MS_WORKER"
"""What msrun puts into the environment of a worker, and not into that of the scheduler."""

_NOISE = re.compile(rb"\[(INFO|WARNING)\] [A-Z_]+\(")
"""Lines that MindSpore writes past its log level when processes part."""


class _Follower:
    """Passes on what is added to a file, line by line."""

    def __init__(self, path: Path):
        self._path = path
        self._offset = 0

    def show(self) -> None:
        """Write the whole lines that are new to standard output."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            added = file.read()
        whole = added[: added.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines(keepends=True):
            if not _NOISE.match(line):
                sys.stdout.write(line.decode(errors="replace"))
        sys.stdout.flush()


def launch(program: Sequence[str], workers: int, log_dir: Path) -> int:
    """Run a Python program in several processes; standard output shows what the first one says.

    Ctrl-C and SIGTERM go on to the workers as a request to stop; given twice, they end everything at once.

    Args:
        program: `-m`, a module and its arguments.
        workers: number of processes.
        log_dir: gets `worker_N.log` and `msrun.log`.
    Returns:
        2 where a process ended with a user's mistake, 1 where one failed otherwise, else 0.
    """
    log_dir.mkdir(parents=True, exist_ok=True)
    said, first_log = log_dir / "msrun.log", log_dir / "worker_0.log"
    first_log.unlink(missing_ok=True)
    environment = {"GLOG_v": _ERRORS_ONLY, **msrun_environment()}
    line = msrun_command(program, workers, log_dir)
    with said.open("wb") as sink:
        # A session of its own, because msrun answers Ctrl-C by killing the workers.
        msrun = subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=sink, start_new_session=True)
    try:
        status = _wait(msrun, said, _Follower(first_log))
    finally:
        if msrun.poll() is None:
            msrun.send_signal(signal.SIGINT)
            msrun.wait()
    statuses = {int(number) for number in _STATUS.findall(said.read_text(errors="replace"))}
    if status == 0 and not statuses:
        return OK
    sys.stderr.write(f"mf-train: a process failed; all of them have been stopped. See {log_dir}.\n")
    return USER_ERROR if USER_ERROR in statuses else FAILURE


def _wait(msrun: subprocess.Popen[bytes], said: Path, follower: _Follower) -> int:
    """Exit status of msrun, 1 as soon as it tells of a failed worker: it then waits half a minute for its scheduler.

    Meanwhile show the first worker's output, and pass a request to stop on, once.
    """
    with StopRequest() as stop:
        asked = False
        while True:
            status = msrun.poll()
            follower.show()
            if status is not None:
                return status
            if _STATUS.search(said.read_text(errors="replace")):
                return FAILURE
            if stop.made and not asked:
                asked = True
                for process in _workers_of(msrun.pid):
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGTERM)
            time.sleep(_POLL_S)


def _workers_of(parent: int) -> list[int]:
    """The worker processes that msrun started; Linux keeps parent and environment of each process under /proc."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # The name, in parentheses, may hold spaces; state and parent follow it.
            is_child = int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == parent
            if is_child and _WORKER in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found
