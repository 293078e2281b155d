"""Runs one tiny run in a process of its own, and says in a row of a table how it went."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
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
        mode: its run mode; empty where it can't be read.
        valid: whether the file has no mistake.
        verdict: `runs`, `not yet` where a part is not built, `fails`.
        result: the losses of the steps, the metrics, or the text; else the reason why there is none.
    """

    file: str
    mode: str
    valid: bool
    verdict: str
    result: str


def outcome(tiny: TinyRun, folder: Path, seconds: float) -> Outcome:
    """Run a file.

    Args:
        tiny: the file with its overrides.
        folder: where the process works and writes; what an earlier run left there is removed.
        seconds: how long it may take.
    """
    mode = tiny.config.run_mode if tiny.config else ""
    told = partial(Outcome, tiny.published.name, mode, not tiny.mistakes)
    if tiny.problems:
        return told("not yet", _reason(tiny.problems))
    shutil.rmtree(folder / "output", ignore_errors=True)
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
        return told("fails", f"takes more than {seconds:.0f} s")
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return told("fails", f"status {done.returncode}: {last[0]}")
    mended = [f"with `{problem.path}` as `{problem.suggestion}`" for problem in tiny.mistakes if problem.suggestion]
    return told("runs", "; ".join([_result(mode, folder / "output", done.stdout), *mended]))


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


def _result(mode: str, output: Path, printed: str) -> str:
    """What came of a run."""
    answer: dict[str, Any] = json.loads(printed.splitlines()[-1])
    if mode == "predict":
        return f"{len(answer['token_ids'])} tokens: `{answer['text']!r}`"
    if mode == "eval":
        return ", ".join(f"{name} {value:.4g}" for name, value in answer.items() if name != "checkpoint")
    lines = (output / "metrics.jsonl").read_text("utf-8").splitlines()
    losses = [record["loss"] for record in map(json.loads, lines)]
    return f"{answer['step']} steps, loss {' '.join(f'{loss:.3f}' for loss in losses)}"
