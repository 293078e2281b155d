"""Runs one tiny run in a process of its own, and says in a row of a table how it went."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mf_config.problems import Problem
from real_runs.overrides import TinyRun

_NOT_YET = "can't be run yet"
"""What mf says of a part that it knows and does not have."""


@dataclass(frozen=True)
class Outcome:
    """A row of the table.

    Attributes:
        file: the published file's name.
        mode: its run mode; empty where the file does not say.
        verdict: `runs`, `not yet` where a part is not built, `fails`.
        result: the losses of the steps, the metrics, or the text; else the reason why there is none.
    """

    file: str
    mode: str
    verdict: str
    result: str


def outcome(published: Path, tiny: TinyRun, folder: Path, seconds: float) -> Outcome:
    """Run a file.

    Args:
        published: the file.
        tiny: what it became.
        folder: where the process works and writes.
        seconds: how long it may take.
    """
    mode = tiny.config.run_mode if tiny.config else ""
    if tiny.problems:
        return Outcome(published.name, mode, "not yet", _reason(tiny.problems))
    try:
        done = subprocess.run(
            command(tiny),
            cwd=folder,
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(published.name, mode, "fails", f"takes more than {seconds:.0f} s")
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return Outcome(published.name, mode, "fails", f"status {done.returncode}: {last[0]}")
    return Outcome(published.name, mode, "runs", _result(mode, folder / "output", done.stdout, tiny.mended))


def command(tiny: TinyRun) -> list[str]:
    """The words that run a file by hand."""
    words = [word for override in tiny.overrides for word in ("--set", override)]
    return [sys.executable, "-m", "mf_train", "run", str(tiny.file), "--json", *words]


def shown(tiny: TinyRun) -> str:
    """The command as a person types it."""
    return shlex.join(["mf-train", *command(tiny)[3:]])


def _reason(problems: Sequence[Problem]) -> str:
    """Why a file can't be run: the parts that are not built, else everything."""
    parts = [problem for problem in problems if _NOT_YET in problem.what] or problems
    return "; ".join(f"`{problem.path}`: {problem.what}" for problem in parts)


def _result(mode: str, output: Path, printed: str, mended: Sequence[str]) -> str:
    """What came of a run."""
    answer: dict[str, Any] = json.loads(printed.splitlines()[-1])
    if mode == "predict":
        result = f"{len(answer['token_ids'])} tokens: {answer['text']!r}"
    elif mode == "eval":
        result = ", ".join(f"{name} {value:.4g}" for name, value in answer.items() if name != "checkpoint")
    else:
        lines = (output / "metrics.jsonl").read_text("utf-8").splitlines()
        losses = [record["loss"] for record in map(json.loads, lines) if "loss" in record]
        result = f"{answer['step']} steps, loss {' '.join(f'{loss:.3f}' for loss in losses)}"
    return "; ".join([result, *(f"with {words}" for words in mended)])
