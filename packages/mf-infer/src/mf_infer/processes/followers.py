"""Starts the processes that compute a model together with this one; imports no MindSpore."""

import json
import os
import subprocess
import sys
import threading

from mf_config.problems import UserError
from mf_config.sections.context import ContextSection
from mf_parallel.launch import free_port
from mf_parallel.process_group import ProcessGroup

_HOST = "127.0.0.1"

_PATIENCE_S = 30 * 24 * 3600
"""How long followers wait for something to do; that the first process has ended, they see at their standard input."""

ERRORS_ONLY = "3"
"""Value of GLOG_v: at MindSpore's own level a start logs dozens of warnings, of connections and of kept graphs."""

_LOST = 1
"""Exit status of the first process where another one has died."""

_started: list[subprocess.Popen[bytes]] = []
"""Kept for the life of the process, for it holds the other end of their standard inputs."""


def start_followers(processes: int, context: ContextSection) -> None:
    """Make this process the first one of several, and start the others on this machine; before MindSpore connects.

    Where one of them dies, this process says so and ends too: it would wait for it forever.

    Args:
        processes: how many there are, this one among them; at least 2.
        context: the device and the mode, which are the same for all. On Ascend, each process takes a device of its own.
    Raises:
        UserError: this process belongs to a job of several processes already.
    """
    if ProcessGroup.from_environment().size > 1:
        raise UserError("tensor_parallel: this process is one of several already. Allowed: one such model a process.")
    job = {
        "MS_WORKER_NUM": str(processes),
        "MS_SCHED_HOST": _HOST,
        "MS_SCHED_PORT": str(free_port()),
        "MS_CPU_COMM_OP_TIMEOUT": str(_PATIENCE_S),
    }
    places = [_place("MS_WORKER", rank) for rank in range(processes)]
    settings = {name: getattr(context, name) for name in ("device_target", "mode", "max_call_depth")}
    command = [sys.executable, "-m", "mf_infer.processes.follower", json.dumps(settings)]
    os.environ.setdefault("GLOG_v", ERRORS_ONLY)
    for place in (_place("MS_SCHED", 0), *places[1:]):
        environment = {**os.environ, **job, **place}
        process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        _started.append(process)
        threading.Thread(target=_end_with, args=(process,), daemon=True).start()
    os.environ.update(job | places[0])


def _end_with(process: subprocess.Popen[bytes]) -> None:
    """End this process when another one dies; not when all of them end because this one does."""
    status = process.wait()
    if status and threading.main_thread().is_alive():
        sys.stderr.write(
            f"tensor_parallel: process {process.pid}, which computes a part of the model, has died (status {status}). "
            "Nothing can be computed without it.\n"
        )
        sys.stderr.flush()
        # Whoever computes waits inside MindSpore, where no exception reaches.
        os._exit(_LOST)


def _place(role: str, rank: int) -> dict[str, str]:
    return {"MS_ROLE": role, "MS_NODE_ID": str(rank), "RANK_ID": str(rank)}
