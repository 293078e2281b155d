"""docs/benchmarks.md, written from suite.toml and the results beside it."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import cell

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
RESULTS = HERE / "results"

_HEAD = """\
# Benchmarks

Written by `nox -s bench` (`nox -s bench -- NAME` for one). Each benchmark starts mf and a peer as processes apart,
in turn, checks that both computed the same, and divides the two values of each round, which met the same state of the
machine: the ratio is the median over the rounds, with its quartiles in brackets. They are no part of the tests.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One entry of suite.toml.

    Attributes:
        name: what it is called on the command line.
        title: its heading.
        script: the file that runs it, beside this one.
        runs: the arguments of each call of the script.
        goal: what the numbers are held against.
        note: what else is to be said of them.
    """

    name: str
    title: str
    script: str
    runs: tuple[tuple[str, ...], ...]
    goal: str
    note: str = ""

    @property
    def results(self) -> Path:
        """The file of its results, one JSON object a comparison."""
        return RESULTS / f"{self.name}.jsonl"


def read_suite() -> list[Benchmark]:
    """All benchmarks, in the order of the page."""
    entries = tomllib.loads((HERE / "suite.toml").read_text(encoding="utf-8"))["benchmark"]
    return [Benchmark(**{**entry, "runs": tuple(map(tuple, entry["runs"]))}) for entry in entries]


def write_page() -> Path:
    """Write the page; returns its path."""
    sections = [_HEAD, *("\n".join(_section(benchmark)) for benchmark in read_suite())]
    PAGE.write_text("\n".join(sections), encoding="utf-8")
    return PAGE


def _section(benchmark: Benchmark) -> Iterator[str]:
    yield f"## {benchmark.title}\n"
    for arguments in benchmark.runs:
        words = " ".join(word.replace("{configs}", "FOLDER") for word in arguments)
        yield f"    python benchmarks/{benchmark.script} {words}\n"
    yield f"Goal: {benchmark.goal}.\n"
    if benchmark.note:
        yield benchmark.note.strip() + "\n"
    if not benchmark.results.exists():
        yield "Not run yet.\n"
        return
    results = [json.loads(line) for line in benchmark.results.read_text(encoding="utf-8").splitlines()]
    yield "| comparison | measure | mf | peer | ratio |"
    yield "|---|---|---|---|---|"
    for result in results:
        yield from _rows(result)
    # Where some comparisons are older than others, or another machine's, each kind is named.
    for place, titles in _places(results).items():
        yield "\n" + (place if len(titles) == len(results) else f"{'; '.join(titles)}: {place}") + "\n"


def _rows(result: Mapping[str, Any]) -> Iterator[str]:
    if "unable" in result:
        yield f"| {result['title']} | not compared: {result['unable']} | | | |"
        return
    for measure, row in result["measures"].items():
        values = " | ".join(cell(row[key]) for key in ("first", "second", "ratio_by_round"))
        yield f"| {result['title']} | {measure} | {values} |"


def _places(results: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """When and where the numbers were measured, and the titles of the comparisons that this holds for."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for result in results:
        machine, day = result["machine"], result.get("date", "")[:10]
        groups.setdefault((day, f"{machine['cores']} cores of {machine['processor']}"), []).append(result)
    return {
        _place(day, where, [result for result in group if "unable" not in result]): [one["title"] for one in group]
        for (day, where), group in groups.items()
    }


def _place(day: str, where: str, measured: Sequence[Mapping[str, Any]]) -> str:
    words = [f"{day}, {where}" if day else where]
    if measured:
        rounds = sorted({result["rounds"] for result in measured})
        words[0] += f", {' or '.join(map(str, rounds))} rounds"
        before, after = measured[0]["load_average"][0], measured[-1]["load_average"][1]
        words.append(f"load average {before:.1f} before and {after:.1f} after")
        words.append(_versions(measured))
    return "; ".join(words) + "."


def _versions(results: Sequence[Mapping[str, Any]]) -> str:
    contenders = (contender for result in results for contender in result["contenders"])
    return ", ".join(sorted({f"{name} {version}" for one in contenders for name, version in one["versions"].items()}))
