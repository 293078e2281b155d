"""Where a run writes: the files in `output_dir` and their names."""

import errno
import os
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import mf_ckpt
from mf_config.problems import UserError

_REFUSALS = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.ENAMETOOLONG}
)
"""Why a folder can't be made where the place is wrong; anything else, as a full disk, is a failure."""

EARLIER_RUNS = "earlier-*"
"""Pattern of the names of folders to which files of former runs are moved."""


@dataclass(frozen=True, slots=True)
class OutputFolder:
    """The files of a run.

    Attributes:
        root: `output_dir`.
    """

    root: Path

    def make(self) -> None:
        """Make the folder, and in it that of the log.

        Raises:
            UserError: this is no place where this user may write.
        """
        folder = self.log(0).parent
        reason = ""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if error.errno not in _REFUSALS:
                raise
            reason = os.strerror(error.errno)
        if reason or not os.access(folder, os.W_OK):
            what = f"output_dir: {self.root} can't be written to: {reason or os.strerror(errno.EACCES)}"
            raise UserError(f"{what}. Allowed: a folder in which this user may make files.")

    @property
    def metrics(self) -> Path:
        """One JSON object a step."""
        return self.root / "metrics.jsonl"

    @property
    def evaluations(self) -> Path:
        """One JSON object an evaluation."""
        return self.root / "evaluations.jsonl"

    @property
    def expert_load(self) -> Path:
        """One JSON object a step: the load of the experts of each block."""
        return self.root / "expert_load.jsonl"

    @property
    def resolved_config(self) -> Path:
        """The configuration with every default written out."""
        return self.root / "config.resolved.yaml"

    @property
    def samples(self) -> Path:
        """One JSON object a row: some of those that the run reads."""
        return self.root / "samples.jsonl"

    @property
    def environment(self) -> Path:
        """What the run ran on, one JSON object."""
        return self.root / "environment.json"

    @property
    def report(self) -> Path:
        """The run on one page."""
        return self.root / "report.html"

    @property
    def tensorboard(self) -> Path:
        """Folder of TensorBoard's event files."""
        return self.root / "tensorboard"

    @property
    def profile(self) -> Path:
        """Folder of the profile of some steps."""
        return self.root / "profile"

    @property
    def checkpoints(self) -> Path:
        """Root of the checkpoints, `step-00000300` each."""
        return self.root / "checkpoint"

    @property
    def layout(self) -> Path:
        """Which process holds what of the weights, where a run only says so."""
        return self.root / "layout.json"

    def base(self, digest: str) -> Path:
        """The weights beside which an adapter is trained, where the run drew them: a checkpoint.

        Args:
            digest: tells them from those of other runs, whose checkpoints may need them.
        """
        return self.root / f"base-{digest}"

    def log(self, rank: int) -> Path:
        """What one process said."""
        return self.root / "log" / f"rank_{rank}.log"

    def set_aside(self, first_step: int) -> Path | None:
        """Move what this start of the run would mix up with its own files into a folder `earlier-N`.

        From the beginning that is everything that another run recorded and saved here; after a resume it is checkpoints
        of steps that will be done again. They would pass for the newest ones of this run.

        Args:
            first_step: steps done before this start.
        Returns:
            The folder, None where there is nothing to move.
        """
        later = [path for path in mf_ckpt.checkpoints(self.checkpoints) if _step_of(path) > first_step]
        steps = (self.metrics, self.evaluations, self.expert_load)
        records = [] if first_step else [path for path in steps if path.exists()]
        if not later and not records:
            return None
        folder = next(path for number in count(1) if not (path := self.root / f"earlier-{number}").exists())
        for path in (*records, *later):
            place = folder / path.relative_to(self.root)
            place.parent.mkdir(parents=True, exist_ok=True)
            path.rename(place)
        return folder


def _step_of(checkpoint: Path) -> int:
    """Steps done when a checkpoint of a run was saved, from its folder's name."""
    return int(checkpoint.name.rpartition("-")[2])
