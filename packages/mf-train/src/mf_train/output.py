"""Where a run writes: the files in `output_dir` and their names."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class OutputFolder:
    """The files of a run.

    Attributes:
        root: `output_dir`.
    """

    root: Path

    @property
    def metrics(self) -> Path:
        """One JSON object a step."""
        return self.root / "metrics.jsonl"

    @property
    def evaluations(self) -> Path:
        """One JSON object an evaluation."""
        return self.root / "evaluations.jsonl"

    @property
    def resolved_config(self) -> Path:
        """The configuration with every default written out."""
        return self.root / "config.resolved.yaml"

    @property
    def checkpoints(self) -> Path:
        """Root of the checkpoints, `step-00000300` each."""
        return self.root / "checkpoint"

    def log(self, rank: int) -> Path:
        """What one process said."""
        return self.root / "log" / f"rank_{rank}.log"
