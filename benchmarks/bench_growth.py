"""Memory after 10,000 training steps and after 10,000 requests, against that after a tenth of them.

python benchmarks/bench_growth.py [--count 10000] [--json FILE]
"""

import argparse
import sys
import tempfile
from pathlib import Path

from harness import Contender, compare, report

_WORKER = str(Path(__file__).with_name("growth_worker.py"))
_ROUNDS = 2
_TITLES = {"train": "steps of training", "answer": "requests"}


def main() -> None:
    """Run the comparisons and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="steps and requests, a multiple of 1,000")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="at most two are done: each takes minutes")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    counts = options.count, options.count // 10
    with tempfile.TemporaryDirectory(prefix="growth-") as folder:
        for work, title in _TITLES.items():
            many, few = (
                Contender(f"{count:,}", (sys.executable, _WORKER, work, str(count), folder)) for count in counts
            )
            report(compare(f"memory after {title}", many, few, rounds=min(options.rounds, _ROUNDS)), options.json)


if __name__ == "__main__":
    main()
