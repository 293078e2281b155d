"""Compares two programs: they run as processes of their own, in turn, and must compute the same.

A program prints one JSON object as its last line:

    {"measures": {"save_s": 0.61, "load_s": 0.20}, "result": "whatever must agree", "versions": {"numpy": "2.4.6"}}

One whose start is not to be measured, such as that of a compiled graph, may stay: with `stays=True` it prints such a
line for each line that it reads, and ends at the end of its input.

A benchmark makes two contenders, compares them, and reports:

    ours = Contender("mf", (sys.executable, "worker.py", "mf"))
    peer = Contender("peer", (peer_python, "worker.py", "peer"))
    report(compare("saving 1 GB", ours, peer), json_path)

Of a program that stays, the most memory that it had so far is measured too: peak_mb.
"""

import argparse
import json
import operator
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, Any

ROUNDS = 10
"""At least; fewer say little on a machine that does other work too."""

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


PEER_PYTHON = "MF_PEER_PYTHON"
"""The environment variable that names the Python which has the peers."""


_BESIDE_MF = ("copy", "mindspore")


class BenchmarkError(Exception):
    """A program failed, or the two did not compute the same."""


class EndedError(BenchmarkError):
    """A program ended without an answer.

    Attributes:
        name: which of the two.
        reason: how it ended, in one line.
    """

    def __init__(self, name: str, status: int, errors: str):
        """Takes the contender's name, the exit status of its process, and what that wrote to stderr."""
        self.name = name
        self.reason = f"ended by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        super().__init__(f"{name}: {self.reason}\n{errors}")


@dataclass(frozen=True, slots=True)
class Contender:
    """One of the two programs.

    Attributes:
        name: what the table calls it.
        command: program and arguments.
        variables: environment variables on top of those of the benchmark; None takes one away.
        stays: whether the program answers one round after the other, instead of running once for each.
    """

    name: str
    command: tuple[str, ...]
    variables: Mapping[str, str | None] = field(default_factory=dict)
    stays: bool = False

    def environment(self) -> dict[str, str]:
        """The variables of its process."""
        chosen = {**os.environ, **self.variables}
        return {name: value for name, value in chosen.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Comparison:
    """All runs of two contenders.

    Attributes:
        title: what was measured.
        contenders: first and second.
        runs: for each contender what its runs printed, in the order of the rounds.
        settings: what else belongs to the numbers, such as sizes.
        load: the machine's load average over the last minute, before and after.
    """

    title: str
    contenders: tuple[Contender, Contender]
    runs: tuple[list[dict[str, Any]], list[dict[str, Any]]]
    settings: Mapping[str, Any]
    load: tuple[float, float]

    def values(self, measure: str) -> tuple[list[float], list[float]]:
        """One measure in all rounds, of the first and of the second contender."""
        first, second = ([run["measures"][measure] for run in runs] for runs in self.runs)
        return first, second

    def measures(self) -> list[str]:
        """What both contenders measure."""
        return [name for name in self.runs[0][0]["measures"] if name in self.runs[1][0]["measures"]]


def compare(
    title: str,
    first: Contender,
    second: Contender,
    *,
    rounds: int = ROUNDS,
    same: Callable[[Any, Any], bool] = operator.eq,
    settings: Mapping[str, Any] | None = None,
) -> Comparison:
    """Run both in turn, after one round that warms up caches and is not counted.

    Args:
        title: what is measured.
        first: whose values are divided in the ratios.
        second: by whose values.
        rounds: how often each runs.
        same: says whether two results agree.
        settings: what else belongs to the numbers.

    Returns:
        All runs.

    Raises:
        BenchmarkError: a program failed, or the two results of a round differ.
    """
    runs: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    before = os.getloadavg()[0]
    with ExitStack() as stack:
        programs = [stack.enter_context(_program(contender)) for contender in (first, second)]
        for number in range(rounds + 1):
            sys.stderr.write(f"{title}: round {number} of {rounds}\n")
            expected = None
            for run_once, contender, kept in zip(programs, (first, second), runs, strict=True):
                run = run_once()
                expected = run["result"] if expected is None else expected
                if not same(expected, run["result"]):
                    raise BenchmarkError(f"{contender.name}: result {run['result']} differs from {expected}")
                if number:
                    kept.append(run)
    return Comparison(title, (first, second), runs, settings or {}, (before, os.getloadavg()[0]))


def report(comparison: Comparison, json_path: Path | None = None) -> None:
    """Print the comparison as a table, and add it as one line of JSON to a file.

    Args:
        comparison: what `compare` returned.
        json_path: the file; None for none.
    """
    summary = summarize(comparison)
    sys.stdout.write(as_table(comparison.title, summary))
    if json_path is not None:
        with json_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(summary) + "\n")


def report_unable(title: str, error: EndedError, json_path: Path | None = None) -> None:
    """Say that a comparison can't be made here, and keep that in place of its results.

    Args:
        title: what was to be measured.
        error: how the peer ended.
        json_path: the file of the results; None for none.
    """
    sys.stdout.write(f"{title}: not compared. {error}\n\n")
    if json_path is not None:
        unable = {"title": title, "unable": f"{error.name}: {error.reason}", "machine": _machine(), "date": _now()}
        with json_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(unable) + "\n")


def summarize(comparison: Comparison) -> dict[str, Any]:
    """A comparison as plain data: for each measure medians, quartiles and ratio, and where the numbers come from."""
    rows = {}
    for measure in comparison.measures():
        first, second = comparison.values(measure)
        # Pairs of one round met the same state of the machine.
        pairs = [one / other for one, other in zip(first, second, strict=True)]
        rows[measure] = {
            "first": _spread(first),
            "second": _spread(second),
            "ratio_of_medians": statistics.median(first) / statistics.median(second),
            "ratio_by_round": _spread(pairs),
        }
    return {
        "title": comparison.title,
        "settings": dict(comparison.settings),
        "contenders": [
            {"name": one.name, "command": _names(one.command), "variables": dict(one.variables), **_versions(runs)}
            for one, runs in zip(comparison.contenders, comparison.runs, strict=True)
        ],
        "rounds": len(comparison.runs[0]),
        "measures": rows,
        "machine": _machine(),
        "date": _now(),
        "load_average": comparison.load,
    }


def as_table(title: str, summary: Mapping[str, Any]) -> str:
    """The summary for a person: `median [lower quartile, upper quartile]` of each contender, and the ratio."""
    names = [contender["name"] for contender in summary["contenders"]]
    lines = [["", *names, f"{names[0]} / {names[1]}"]]
    for measure, row in summary["measures"].items():
        lines.append([measure, *(cell(row[key]) for key in ("first", "second", "ratio_by_round"))])
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    machine = summary["machine"]
    head = (
        f"{title} ({summary['rounds']} rounds in turn; median [quartiles]; {machine['cores']} x {machine['processor']})"
    )
    return "\n".join([head, *table]) + "\n\n"


def cell(spread: Mapping[str, float]) -> str:
    """A spread for a person: `median [lower quartile, upper quartile]`."""
    return f"{spread['median']:.3g} [{spread['lower']:.3g}, {spread['upper']:.3g}]"


def checkpoint_options(description: str, peers: Sequence[str], megabytes: int) -> argparse.ArgumentParser:
    """The options that all benchmarks of checkpoints have.

    Args:
        description: what is measured.
        peers: what can be compared with.
        megabytes: size of a checkpoint where none is asked for.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", nargs="+", choices=peers, default=peers, help="what to compare with")
    parser.add_argument(
        "--peer-python",
        default=os.environ.get(PEER_PYTHON, sys.executable),
        help=f"the Python that has the peers installed; else that of the variable {PEER_PYTHON}, or this one",
    )
    parser.add_argument("--megabytes", type=int, default=megabytes, help="size of the checkpoint")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each runs")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="on the disk to be measured")
    parser.add_argument("--json", type=Path, help="add the results to this file, one JSON object a line")
    return parser


def python_of(peer: str, peer_python: str) -> str:
    """The Python that a peer runs in: what mf itself needs stands beside mf, the rest where the peers are."""
    return sys.executable if peer in _BESIDE_MF else peer_python


def reason_to_skip(python: str, library: str) -> str:
    """Why a peer can't be measured; empty where it can."""
    done = subprocess.run([python, "-c", f"import numpy, {library}"], capture_output=True, text=True, check=False)
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""


@contextmanager
def _program(contender: Contender) -> Iterator[Callable[[], dict[str, Any]]]:
    """What runs a contender for one round."""
    if not contender.stays:
        yield partial(_run, contender)
        return
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            contender.command,
            env=contender.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        with process:
            yield partial(_ask, contender, process, errors)
            assert process.stdin is not None
            process.stdin.close()


def _ask(contender: Contender, process: subprocess.Popen[str], errors: IO[str]) -> dict[str, Any]:
    """One round of a program that stays."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("round\n")
    process.stdin.flush()
    for line in process.stdout:
        # Other programs print messages of their own.
        if line.startswith("{"):
            answer: dict[str, Any] = json.loads(line)
            answer["measures"]["peak_mb"] = _peak_mb(process.pid)
            return answer
    status = process.wait()
    errors.seek(0)
    raise EndedError(contender.name, status, errors.read())


def _peak_mb(process: int) -> float:
    """The most memory that a running process ever had."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024 / 1e6


def _run(contender: Contender) -> dict[str, Any]:
    done = subprocess.run(contender.command, env=contender.environment(), capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        raise EndedError(contender.name, done.returncode, done.stderr)
    run: dict[str, Any] = json.loads(lines[-1])
    return run


def _spread(values: list[float]) -> dict[str, float]:
    lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "lower": lower, "upper": upper, "least": min(values), "most": max(values)}


def _names(command: Sequence[str]) -> list[str]:
    """A command without the folders of the machine that it ran on."""
    return [Path(word).name if Path(word).is_absolute() else word for word in command]


def _versions(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"versions": runs[0].get("versions", {})}


def _machine() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.platform(),
        "threads": {name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ},
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text(encoding="utf-8").splitlines() if information.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor())
