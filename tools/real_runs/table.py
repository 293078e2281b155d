"""The table of outcomes as a part of docs/real-files.md."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from real_runs.outcome import Outcome

BEGIN = "<!-- nox -s real-files writes from here -->"
END = "<!-- to here -->"
HEAD = "| file | `run_mode` | valid | outcome | result, or reason why not |\n|---|---|---|---|---|\n"
_ROW = re.compile(r"^\| `(?P<file>[^`]+)` \| .*\n", re.MULTILINE)


def as_row(found: Outcome) -> str:
    """A line of the table."""
    valid = "yes" if found.valid else "no"
    text = found.result.replace("|", r"\|").replace("\n", " ")
    return f"| `{found.file}` | {found.mode} | {valid} | {found.verdict} | {text} |\n"


def kept_rows(page: str, files: set[str]) -> dict[str, str]:
    """The lines that a page has of some files, by file."""
    return {match["file"]: match[0] for match in _ROW.finditer(_parts(page)[1]) if match["file"] in files}


def write_rows(page: Path, rows: Mapping[str, str]) -> None:
    """Put lines into a page, in the order of the files, in place of those that are there."""
    before, _, after = _parts(page.read_text("utf-8"))
    lines = "".join(rows[file] for file in sorted(rows))
    page.write_text(f"{before}{BEGIN}\n\n{HEAD}{lines}\n{END}{after}", "utf-8")


def summary(outcomes: Iterable[Outcome]) -> str:
    """How many files run, and how many do not."""
    counts = Counter(found.verdict for found in outcomes)
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def _parts(page: str) -> tuple[str, str, str]:
    """What stands before the table, in its place and behind it."""
    before, _, rest = page.partition(BEGIN)
    table, _, after = rest.partition(END)
    return before, table, after
