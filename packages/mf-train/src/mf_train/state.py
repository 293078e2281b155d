"""What a run knows of itself: counters that every checkpoint keeps, and how a start of the run ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Counters:
    """What a run has done; saved in every checkpoint.

    Attributes:
        step: batches consumed.
        skipped: those among them that changed nothing, because gradients overflowed, a number was a spike, or no
            target counted.
        update: optimizer updates applied. It differs from `step - skipped` only after a resume with another batch
            size, which counts the steps anew.
        tokens: targets that counted in the loss.
        rows_begin: the number of steps after which the rows began anew; 0 where they never did.
    """

    step: int = 0
    skipped: int = 0
    update: int = 0
    tokens: int = 0
    rows_begin: int = 0

    @property
    def batch(self) -> int:
        """Number of the batch that the next step reads, from 0."""
        return self.step - self.rows_begin

    @property
    def schedule_position(self) -> int:
        """Where the learning-rate schedule stands: steps that count for it, 0 before the first one."""
        return self.step - self.skipped


@dataclass(slots=True)
class TrainingResult:
    """How a start of a run ended.

    Attributes:
        step: steps done.
        total_steps: steps of the whole run.
        loss: loss of the last step, None where this start did none.
        evaluation: results of the last evaluation, empty where there was none.
        checkpoint: newest checkpoint saved in this start, None where there is none.
        stopped_by: why the run stopped before its last step; empty where it is complete.
    """

    step: int
    total_steps: int
    loss: float | None = None
    evaluation: Mapping[str, float] = field(default_factory=dict)
    checkpoint: Path | None = None
    stopped_by: str = ""


class TrainingDivergedError(RuntimeError):
    """Gradients stay infinite, undefined or too large, or the loss too high: going on would train nothing."""
