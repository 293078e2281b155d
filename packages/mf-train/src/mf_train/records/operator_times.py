"""What MindSpore's profiler records of the operators on a host, as a Chrome trace and as a table of the hottest ones.

The profiler writes a line for each operator of a graph: `Default/layer/MatMul-op3;HostCpuOps;` and then, for each
execution, `start,duration,thread` and a blank: nanoseconds, milliseconds, and a number without use here.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

OPERATORS = "operators.jsonl"
"""Name of the table's file in the folder of a profile: one object an operator, the hottest first."""

TRACE = "trace.json"
"""Name of the Chrome trace's file there."""

_FILES = "*/FRAMEWORK/cpu_op_execute_timestamp_*.txt"
"""Where the profiler puts its lines, below its output folder."""

_NUMBER = re.compile(r"-op\d+$")


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of one operator.

    Attributes:
        name: the operator's place in the graph, `Default/layer/MatMul-op3`.
        start: nanoseconds of the clock.
        milliseconds: how long it took.
    """

    name: str
    start: int
    milliseconds: float

    @property
    def kind(self) -> str:
        """What the operator does, `MatMul`."""
        return _NUMBER.sub("", self.name.rpartition("/")[2])


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """All executions of one kind of operator.

    Attributes:
        operator: its kind.
        calls: how many executions.
        milliseconds: their time in all.
        share: of the time of all operators, 0 to 1.
    """

    operator: str
    calls: int
    milliseconds: float
    share: float


def read_executions(folder: Path) -> list[Execution]:
    """The executions that the profiler recorded below a folder, in the order of their starts."""
    found = [one for path in folder.glob(_FILES) for one in _executions(path.read_text(encoding="utf-8"))]
    return sorted(found, key=lambda one: one.start)


def _executions(text: str) -> Iterator[Execution]:
    for line in text.splitlines():
        name, _, times = line.split(";", 2)
        for entry in times.split():
            start, milliseconds, _ = entry.split(",")
            yield Execution(name, int(start), float(milliseconds))


def by_kind(executions: Iterable[Execution]) -> list[OperatorTime]:
    """The time of each kind of operator, the hottest first."""
    times: dict[str, list[float]] = {}
    for one in executions:
        times.setdefault(one.kind, []).append(one.milliseconds)
    total = sum(map(sum, times.values()))
    rows = [OperatorTime(kind, len(own), sum(own), sum(own) / total if total else 0.0) for kind, own in times.items()]
    return sorted(rows, key=lambda row: -row.milliseconds)


def chrome_trace(executions: Iterable[Execution]) -> list[dict[str, object]]:
    """The executions as events that chrome://tracing and Perfetto draw; times in microseconds from the first start."""
    ordered = list(executions)
    begin = ordered[0].start if ordered else 0
    return [
        {
            "name": one.kind,
            "ph": "X",
            "pid": 0,
            "tid": 0,
            "ts": (one.start - begin) / 1000,
            "dur": one.milliseconds * 1000,
            "args": {"operator": one.name},
        }
        for one in ordered
    ]


def table(rows: Iterable[OperatorTime], most: int) -> str:
    """The first rows as lines of text.

    Args:
        rows: result of `by_kind`.
        most: how many rows.
    """
    lines = [f"{'operator':<32} {'calls':>8} {'ms':>10} {'share':>6}"]
    for row in list(rows)[:most]:
        lines.append(f"{row.operator:<32} {row.calls:>8,} {row.milliseconds:>10.1f} {row.share:>6.1%}")
    return "\n".join(lines)


def as_records(rows: Iterable[OperatorTime]) -> list[dict[str, object]]:
    """The rows as JSON objects."""
    return [asdict(row) for row in rows]
