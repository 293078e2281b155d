"""What the processes of a run write beside its log, and what of it the terminal shows."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from mf_parallel.worker_logs import last_traceback

_NOISE = re.compile(r"\[(INFO|WARNING)\] [A-Z_]+\(")
"""Lines that MindSpore writes past its log level when processes part."""

_LAST_LINES = 10
"""What is shown of the log of a process that ended without a traceback."""


class Follower:
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
        for line in whole.decode(errors="replace").splitlines(keepends=True):
            if not _NOISE.match(line):
                sys.stdout.write(line)
        sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class WorkerLogs:
    """The logs of the processes of this machine.

    Attributes:
        folder: where they lie.
        first_rank: the process whose output is shown.
        machine: number of this machine, which may share the folder with others.
    """

    folder: Path
    first_rank: int
    machine: int

    @property
    def msrun(self) -> Path:
        """What msrun says."""
        return self.folder / (f"msrun_{self.machine}.log" if self.machine else "msrun.log")

    @property
    def first(self) -> Path:
        """The log that is shown as it grows."""
        return self.of(self.first_rank)

    def of(self, rank: int) -> Path:
        """The log of one process."""
        return self.folder / f"worker_{rank}.log"

    def error_of(self, rank: int) -> str:
        """What a process that failed said last; empty where the terminal shows it already."""
        if not self.of(rank).exists():
            return ""
        text = self.of(rank).read_text(errors="replace")
        lines = [line for line in text.splitlines() if line.strip() and not _NOISE.match(line)]
        said = last_traceback(text) or "\n".join(lines[-_LAST_LINES:])
        shown = self.first.read_text(errors="replace") if self.first.exists() else ""
        # All processes make the same mistake of a user at the same time.
        return "" if not said or said.splitlines()[-1] in shown else said
