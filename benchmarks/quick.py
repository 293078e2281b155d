"""Compares the working tree with a commit: says what slowed down by more than 10 %.

    python benchmarks/quick.py [--against COMMIT] [--rounds N]

The same small jobs run on the sources of both, in turn, by the programs of this folder and in the same environment. A
job that the commit could not do yet is named and left out. `nox -s bench-quick` runs it.
"""

import argparse
import operator
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_read_rows import write_ids
from bench_train import close
from data_text import make_tokenizer, write_corpus
from harness import BenchmarkError, Contender, compare, report, summarize

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
ROUNDS = 5
"""Fewer than the long benchmarks run, so that all is done in five minutes."""

_SLOWER = 1.1
_NOT_TIMES = ("mb_per_s", "million_tokens_per_s")
"""Measures of which more is better; each job has the time beside them."""


@dataclass(frozen=True, slots=True)
class Job:
    """Something small that is measured.

    Attributes:
        title: what it is.
        script: the program, beside this file.
        arguments: from a folder of its own to the program's arguments; makes what they name.
        stays: whether the program answers one round after the other.
        same: says whether two results agree.
    """

    title: str
    script: str
    arguments: Callable[[Path], Sequence[str]]
    stays: bool = False
    same: Callable[[Any, Any], bool] = operator.eq

    def contender(self, name: str, words: Sequence[str], sources: str, folder: Path) -> Contender:
        """The program on the sources that a search path names."""
        variables = {"PYTHONPATH": sources, "OMP_WAIT_POLICY": "passive", "TMPDIR": str(folder)}
        return Contender(name, (sys.executable, str(HERE / self.script), *words), variables, stays=self.stays)


def _corpus(folder: Path) -> Sequence[str]:
    corpus, tokenizer = folder / "text.jsonl", folder / "tokenizer"
    tokenizer.mkdir()
    write_corpus(corpus, 10)
    make_tokenizer(tokenizer, corpus, 8_000)
    return "mf", str(corpus), str(tokenizer)


def _ids(folder: Path) -> Sequence[str]:
    write_ids(folder / "ids", 100)
    return "mf-data", str(folder / "ids"), "2049"


def _checkpoint(folder: Path) -> Sequence[str]:
    worker = str(HERE / "reshard_worker.py")
    subprocess.run([sys.executable, worker, "prepare", "mf", str(folder), "200"], check=True)
    return "run", "mf", "mf", str(folder)


def _training(folder: Path) -> Sequence[str]:
    subprocess.run([sys.executable, str(HERE / "train_mf.py"), "prepare", "small", str(folder)], check=True, cwd=folder)
    return "run", "small", str(folder)


JOBS = (
    Job("checking configurations", "validate_worker.py", lambda folder: ("mf", str(ROOT / "examples"))),
    Job("saving and loading", "save_load_worker.py", lambda folder: ("mf", str(folder), "200", "unsynced")),
    Job("cutting a checkpoint anew", "reshard_worker.py", _checkpoint),
    Job("tokenizing", "tokenize_worker.py", _corpus),
    Job("reading rows", "read_rows_worker.py", _ids),
    Job("a training step", "train_mf.py", _training, stays=True, same=close),
)


def main(words: Sequence[str] | None = None) -> int:
    """Compare; returns the exit status: 1 where something slowed down, 2 for a commit that there isn't."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", default="HEAD~1", metavar="COMMIT", help="what to compare with (HEAD~1)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each job runs")
    options = parser.parse_args(words)
    known = ["git", "rev-parse", "--verify", "--quiet", f"{options.against}^{{commit}}"]
    if subprocess.run(known, cwd=ROOT, stdout=subprocess.DEVNULL, check=False).returncode:
        parser.error(f"there is no commit {options.against}")
    slower = []
    with _sources_of(options.against) as former:
        for job in JOBS:
            slower += _slower(job, former, options.rounds)
    sys.stdout.write(
        "\n".join([f"slower by more than 10 %: {one}" for one in slower] or ["nothing slowed down"]) + "\n"
    )
    return 1 if slower else 0


def _slower(job: Job, former: Path, rounds: int) -> list[str]:
    """Run a job on both, print the comparison, and name its measures that grew."""
    with tempfile.TemporaryDirectory(prefix="mf-quick-") as name:
        folder = Path(name)
        words = job.arguments(folder)
        now = job.contender("now", words, _search_path(ROOT), folder)
        before = job.contender("before", words, _search_path(former), folder)
        try:
            comparison = compare(job.title, now, before, rounds=rounds, same=job.same)
        except BenchmarkError as error:
            sys.stdout.write(f"{job.title}: not compared. {error}\n\n")
            return []
    report(comparison)
    found = []
    for measure, row in summarize(comparison)["measures"].items():
        ratio = row["ratio_by_round"]
        # Where the quartiles reach 1, the rounds don't agree that it is slower at all.
        if measure not in _NOT_TIMES and ratio["median"] > _SLOWER and ratio["lower"] > 1.0:
            found.append(f"{job.title}, {measure}: {ratio['median']:.2f} of what it was")
    return found


def _search_path(tree: Path) -> str:
    """The sources of all packages of a tree, as PYTHONPATH: they go before those that are installed."""
    return os.pathsep.join(str(path) for path in sorted((tree / "packages").glob("*/src")))


@contextmanager
def _sources_of(commit: str) -> Iterator[Path]:
    """The tree of a commit in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="mf-before-") as name:
        tree = Path(name) / "tree"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), commit], cwd=ROOT, check=True)
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main())
