"""Runs the benchmarks of suite.toml and writes docs/benchmarks.md from all results that there are.

    python benchmarks/suite.py [NAME …] [--rounds N]

Results go to benchmarks/results/NAME.jsonl; a benchmark that runs anew replaces its own. Without names, all run.
"""

import argparse
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
    failed = [name for name in options.names or suite if not run(suite[name], options.rounds)]
    place = write_page()
    sys.stdout.write(f"{place} is written anew\n")
    if failed:
        sys.stderr.write(f"failed: {', '.join(failed)}\n")
    return 1 if failed else 0


def run(benchmark: Benchmark, rounds: int) -> bool:
    """Run one benchmark; where it fails, its former results stay. Returns whether it succeeded."""
    new = benchmark.results.with_suffix(".new")
    new.parent.mkdir(exist_ok=True)
    new.unlink(missing_ok=True)
    for arguments in benchmark.runs:
        filled = [word.format(configs=os.environ.get(CONFIGS, HERE.parent / "examples")) for word in arguments]
        command = [sys.executable, str(HERE / benchmark.script), *filled, "--rounds", str(rounds), "--json", str(new)]
        if subprocess.run(command, check=False).returncode:
            new.unlink(missing_ok=True)
            return False
    if new.exists():
        new.replace(benchmark.results)
    return True


if __name__ == "__main__":
    sys.exit(main())
