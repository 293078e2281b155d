"""The numbers of a run as JSON lines: `metrics.jsonl` and `evaluations.jsonl`."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

from mf_data.files import write_atomically
from mf_train.callback import Callback, Evaluation, RunInfo, StepInfo

_FIELDS = (
    "step",
    "epoch",
    "loss",
    "lr",
    "grad_norm",
    "tokens",
    "tokens_per_second",
    "loss_scale",
    "overflow",
)


class MetricsRecorder(Callback):
    """Appends one object a step to `metrics.jsonl` and one an evaluation to `evaluations.jsonl`.

    A resumed run first drops the lines of steps that it will do again, so each step stands there once.
    """

    def __init__(self, run: RunInfo):
        """Takes the run whose numbers are kept."""
        self._run = run

    def on_train_begin(self) -> None:
        """Keep only the lines up to the step from which this start goes on."""
        self._run.output.root.mkdir(parents=True, exist_ok=True)
        for path in (self._run.output.metrics, self._run.output.evaluations):
            keep_lines_until(path, self._run.first_step)

    def on_step_end(self, info: StepInfo) -> None:
        """Write the step's line."""
        added = {"added_losses": info.added_losses} if info.added_losses else {}
        append_line(self._run.output.metrics, {name: getattr(info, name) for name in _FIELDS} | added)

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Write the evaluation's line."""
        append_line(self._run.output.evaluations, {"step": evaluation.step, **evaluation.values})


def keep_lines_until(path: Path, step: int) -> None:
    """Drop the lines of steps after `step` from a file of JSON lines; a line that a crash spoiled goes too.

    Args:
        path: the file; nothing happens where there is none.
        step: the last step to keep.
    """
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    kept = "".join(line for line in lines if line.endswith("\n") and _step_of(line) <= step)
    write_atomically(path, kept.encode())


def _step_of(line: str) -> float:
    """The step that a line tells of, infinite where it can't be read."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError:
        return math.inf
    step = record.get("step") if isinstance(record, dict) else None
    return step if isinstance(step, int) else math.inf


def append_line(path: Path, record: Mapping[str, object]) -> None:
    """Add an object to a file of JSON lines."""
    with path.open("a", encoding="utf-8") as file:
        file.write(to_json(record) + "\n")


def to_json(record: Mapping[str, object]) -> str:
    """One line of JSON. JSON knows no NaN and no infinity: such a number becomes null."""
    return json.dumps(_finite(record), allow_nan=False)


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
