"""Runs a Python function in a process of its own that takes the part of one rank of an Ascend job.

A process of its own, because the libraries are chosen when MindSpore is loaded, and because the plugin's handlers at
exit don't survive the stand-in.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mf_config.problems import UserError
from mf_parallel.simulation.libraries import StandIn, stand_in

TIMEOUT_S = 600.0
LAST_PASS = "validate"
"""MindSpore's name of the end of the compiler's front end; the graphs of no other pass are written."""

_WORKER = "mf_parallel.simulation.worker"


class SimulationError(RuntimeError):
    """The function raised an exception, or its process ended without a result.

    Attributes:
        output: the last of what the process wrote to standard output and error.
    """

    def __init__(self, message: str, output: str):
        super().__init__(message)
        self.output = output


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRank:
    """Which part a process takes.

    Attributes:
        rank: number of the process, 0 to size - 1.
        size: processes of the job; of these only the one that is asked for runs.
        executes: whether graphs are run with empty kernels, so that MindSpore plans streams and memory; else they are
            only compiled.
    """

    rank: int = 0
    size: int = 1
    executes: bool = False

    def __post_init__(self) -> None:
        """Refuse a rank that the job does not have."""
        if not 0 <= self.rank < self.size:
            raise UserError(f"Ascend simulation: rank {self.rank} of {self.size}. Allowed: 0 to {self.size - 1}.")

    def environment(self, libraries: StandIn, before: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The environment of the process.

        Args:
            libraries: the stand-in for CANN.
            before: variables to start from.
        """
        return {
            **before,
            "LD_LIBRARY_PATH": _joined(*libraries.library_path, before.get("LD_LIBRARY_PATH", "")),
            "PYTHONPATH": _joined(libraries.python_path, before.get("PYTHONPATH", "")),
            "MS_SIMULATION_LEVEL": str(int(self.executes)),
            "RANK_ID": str(self.rank),
            "RANK_SIZE": str(self.size),
            "OMP_WAIT_POLICY": "passive",
            # To write the graphs of all other passes takes MindSpore twice as long as to compile.
            "MS_DEV_DUMP_IR_PASSES": LAST_PASS,
        }


def simulate(
    function: str,
    arguments: Mapping[str, Any],
    rank: SimulatedRank = SimulatedRank(),
    *,
    search_path: Sequence[Path] = (),
    timeout_s: float = TIMEOUT_S,
) -> Any:
    """Call a function where MindSpore's device is an Ascend that is not there.

    Args:
        function: `package.module:function`, imported in the new process. MindSpore is set to graph mode on Ascend
            before, and communication is there if the job has several ranks. Graphs are to be compiled
            (`mf_parallel.simulation.graphs`); numbers that they compute mean nothing.
        arguments: its keyword arguments, of types that JSON knows.
        rank: which rank of which job the process is.
        search_path: folders of modules that are not installed.
        timeout_s: seconds after which the process is killed.

    Returns:
        What the function returns, which must be of types that JSON knows.

    Raises:
        UserError: the libraries can't be built; see `stand_in`.
        SimulationError: the function failed.
    """
    environment = rank.environment(stand_in())
    environment["PYTHONPATH"] = _joined(*search_path, environment["PYTHONPATH"])
    # MindSpore writes folders of its own into the working directory.
    with tempfile.TemporaryDirectory(prefix="mf-simulation-") as directory:
        answer = Path(directory) / "answer.json"
        request = json.dumps({"function": function, "arguments": arguments, "answer": str(answer)})
        try:
            done = subprocess.run(
                (sys.executable, "-m", _WORKER),
                cwd=directory,
                env=environment,
                input=request,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SimulationError(f"{function} took more than {timeout_s:.0f} s on {_name(rank)}", "") from error
        found = json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else {}
        if "result" not in found:
            reason = found.get("error", f"the process ended with status {done.returncode}")
            raise SimulationError(f"{function} failed on {_name(rank)}: {reason}", done.stdout[-4000:])
        return found["result"]


def _name(rank: SimulatedRank) -> str:
    return f"rank {rank.rank} of {rank.size}"


def _joined(*folders: Path | str) -> str:
    """Folders as the value of a search path; empty ones would mean the working directory."""
    return os.pathsep.join(str(folder) for folder in folders if str(folder))
