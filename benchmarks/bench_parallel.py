"""What dividing a training costs and gains: the step of one process, and two processes of one core each.

1. mf-train's step on one process, beside the same network, loss and optimizer in a graph that knows of no ranks.
2. Two processes, by rows (dp), by matrices (tp) and by blocks (pp), beside one process; all processes have one core.
   Both must have the same loss after the last step.
3. The same layouts beside themselves without collectives: the difference is the time that ranks exchange and wait.

Example:
    python benchmarks/bench_parallel.py --layouts dp --rounds 3
"""

import argparse
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness import ROUNDS, Contender, compare, report

_HERE = Path(__file__).parent
_STEP, _SCALING = str(_HERE / "parallel_step_worker.py"), str(_HERE / "parallel_scaling_worker.py")
_LAYOUTS = ("dp", "tp", "pp")
_CLOSE = 1e-4
"""Relative difference of losses after some steps with another order of float32 sums."""


def main() -> None:
    """Run the comparisons and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="small", help="which model of train_model.py")
    parser.add_argument("--rows", type=int, default=32, help="rows of a step on two processes, a multiple of 8")
    parser.add_argument("--layouts", nargs="*", choices=_LAYOUTS, default=_LAYOUTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="parallel-") as folder:
        # The tokenizer is made by the first program, and all others read it.
        subprocess.run([sys.executable, _STEP, "engine", options.size, folder], check=True, stdin=subprocess.DEVNULL)
        engine, plain = (
            Contender(name, (sys.executable, _STEP, name, options.size, folder), stays=True)
            for name in ("engine", "plain")
        )
        title = f"one process, {options.size}"
        report(compare(title, engine, plain, rounds=options.rounds, same=_near), options.json)
        for layout in options.layouts:
            one, two, silent = (
                Contender(name, (sys.executable, _SCALING, *words))
                for name, words in _programs(layout, options.size, str(options.rows), folder).items()
            )
            report(compare(f"{layout} on two processes", two, one, rounds=options.rounds, same=_near), options.json)
            title = f"{layout} with and without collectives"
            report(compare(title, two, silent, rounds=options.rounds, same=_any), options.json)


def _programs(layout: str, size: str, rows: str, folder: str) -> dict[str, tuple[str, ...]]:
    """Arguments of the worker, by the names of the columns."""
    return {
        "one process": ("one", size, rows, folder),
        layout: (layout, size, rows, folder),
        "without collectives": (layout, size, rows, folder, "silent"),
    }


def _near(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=_CLOSE)


def _any(_first: Any, _second: Any) -> bool:
    return True


if __name__ == "__main__":
    main()
