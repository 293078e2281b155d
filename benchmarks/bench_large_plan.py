"""What a Llama 2 70B takes on 2,048 devices, and how long the steps of its first and its last rank take to compile.

    python benchmarks/bench_large_plan.py [--rounds N] [--json FILE]

`estimate_s` is a whole `mf-train plan`, `compile_s` and `peak_gib` are of the process that has MindSpore's Ascend
compiler divide the step; no device is needed, and no weights are made.
"""

import argparse
import sys
from pathlib import Path

from harness import ROUNDS, Contender, compare, report

_WORKER = str(Path(__file__).with_name("large_plan_worker.py"))


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    first, last = (
        Contender(f"rank {rank}", (sys.executable, _WORKER, rank), {"OMP_WAIT_POLICY": "passive"})
        for rank in ("0", "last")
    )
    report(compare("planning 70B on 2,048 devices", first, last, rounds=arguments.rounds), arguments.json)


if __name__ == "__main__":
    main()
