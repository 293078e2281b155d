"""Runs the benchmarks of suite.toml and writes docs/benchmarks.md from all results that there are.

    python benchmarks/suite.py [NAME …] [--rounds N]

As soon as a benchmark has ended, its results are in benchmarks/results/NAME.jsonl instead of its former ones, and the
page is written anew. Of one that fails, the comparisons that were made replace those of the same title, and the next
one goes on. Without names, all run.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from harness import ROUNDS
from page import Benchmark, read_suite, write_page

HERE = Path(__file__).parent
CONFIGS = "MF_REAL_CONFIGS"


def main(words: Sequence[str] | None = None) -> int:
    """Run what is asked for; returns the exit status: 1 where a benchmark failed, 2 for an unknown name."""
    suite = {benchmark.name: benchmark for benchmark in read_suite()}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to run: {', '.join(suite)}; all where absent")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each program runs")
    options = parser.parse_args(words)
    unknown = [name for name in options.names if name not in suite]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}. Allowed: {', '.join(suite)}.")
    failed = []
    for name in options.names or suite:
        if not run(suite[name], options.rounds):
            failed.append(name)
        sys.stdout.write(f"{name}: {write_page()} is written anew\n")
    if failed:
        sys.stderr.write(f"failed: {', '.join(failed)}\n")
    return 1 if failed else 0


def run(benchmark: Benchmark, rounds: int) -> bool:
    """Run one benchmark and keep its results. Returns whether all of it succeeded."""
    new = benchmark.results.with_suffix(".new")
    new.parent.mkdir(exist_ok=True)
    new.unlink(missing_ok=True)
    succeeded = True
    for arguments in benchmark.runs:
        filled = [word.format(configs=os.environ.get(CONFIGS, HERE.parent / "examples")) for word in arguments]
        command = [sys.executable, str(HERE / benchmark.script), *filled, "--rounds", str(rounds), "--json", str(new)]
        succeeded = not subprocess.run(command, check=False).returncode and succeeded
    if new.exists():
        if not succeeded:
            _keep_others(benchmark.results, new)
        new.replace(benchmark.results)
    return succeeded


def _keep_others(former: Path, new: Path) -> None:
    """Add the former results that were not measured anew."""
    lines = former.read_text(encoding="utf-8").splitlines() if former.exists() else []
    measured = {json.loads(line)["title"] for line in new.read_text(encoding="utf-8").splitlines()}
    with new.open("a", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines if json.loads(line)["title"] not in measured)


if __name__ == "__main__":
    sys.exit(main())
