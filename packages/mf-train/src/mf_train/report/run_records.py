"""What a run has written of itself, read back for its report."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mf_config.problems import UserError
from mf_train.records.operator_times import OPERATORS
from mf_train.records.output import OutputFolder

_IDENTITY = frozenset({"step", "epoch", "tokens", "overflow"})
"""Fields of a step that say which one it is, or what happened; the others are curves."""


@dataclass(frozen=True, slots=True)
class Points:
    """One curve: values by step, gaps left out.

    Attributes:
        steps: ascending.
        values: finite, one a step.
    """

    steps: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RunRecords:
    """The records of a run.

    Attributes:
        name: the output folder's name.
        steps: number of steps recorded.
        tokens: targets that counted until the last step.
        overflows: steps whose gradients were not finite.
        training: name of each number of a step, `loss`, to its curve.
        evaluation: name of each result of evaluations to its curve.
        operators: the table of a profile, hottest first; empty where there is none.
        samples: rows that the run read, each as pairs of a text and whether its tokens count in the loss.
        configuration: the resolved configuration, YAML; empty where there is none.
        environment: what the run ran on, name to value.
    """

    name: str
    steps: int
    tokens: int
    overflows: int
    training: Mapping[str, Points]
    evaluation: Mapping[str, Points]
    operators: tuple[Mapping[str, Any], ...]
    samples: tuple[tuple[tuple[str, bool], ...], ...]
    configuration: str
    environment: Mapping[str, str]


def read_run(output: OutputFolder) -> RunRecords:
    """Read what a run wrote into its output folder.

    Args:
        output: the folder.

    Raises:
        UserError: it holds no metrics of a run.
    """
    if not output.metrics.is_file():
        raise UserError(f"{output.root}: holds no {output.metrics.name}. Allowed: the output_dir of a training run.")
    steps = list(_objects(output.metrics))
    last: Mapping[str, Any] = steps[-1] if steps else {}
    samples = _objects(output.samples)
    return RunRecords(
        name=output.root.resolve().name,
        steps=len(steps),
        tokens=int(last.get("tokens", 0)),
        overflows=sum(bool(step.get("overflow")) for step in steps),
        training=_curves(steps),
        evaluation=_curves(list(_objects(output.evaluations))),
        operators=tuple(_objects(output.profile / OPERATORS)),
        samples=tuple(tuple((str(text), bool(counts)) for text, counts in sample["parts"]) for sample in samples),
        configuration=_text(output.resolved_config),
        environment={name: str(value) for name, value in json.loads(_text(output.environment) or "{}").items()},
    )


def _curves(records: list[Mapping[str, Any]]) -> dict[str, Points]:
    """Every number of the records as a curve, in the order in which the names first appear."""
    names = dict.fromkeys(name for record in records for name in record if name not in _IDENTITY)
    curves = {}
    for name in names:
        found = [(record["step"], record[name]) for record in records if _is_number(record.get(name))]
        if found:
            steps, values = zip(*found, strict=True)
            curves[name] = Points(steps, values)
    return curves


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _objects(path: Path) -> Iterator[Mapping[str, Any]]:
    """The objects of a file of JSON lines; a line that a crash cut short is left out."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(record, dict):
                yield record


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""
