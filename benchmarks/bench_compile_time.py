"""How long a train step of a Llama takes to compile, by its number of layers.

    python benchmarks/bench_compile_time.py [--layers 4 8 16 32] [--forms cpu ascend] [--json FILE]

Two forms are compared: the CPU with the Ascend compiler (which runs without a device); or `ascend` with `ascend-reuse`,
where the compiler keeps one graph for all blocks; or `unrolled` with `loop`, equal small layers on CPU, as they are and
in a loop over stacked weights.
"""

import argparse
import sys
from pathlib import Path

from harness import Contender, compare, report

_WORKERS = {
    **dict.fromkeys(("cpu", "ascend", "ascend-reuse"), "compile_time_worker.py"),
    **dict.fromkeys(("unrolled", "loop"), "loop_over_layers_worker.py"),
}
"""Form to the program that measures it."""


def main() -> None:
    """Run one comparison for each number of layers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, nargs="+", default=[4, 8, 16, 32])
    parser.add_argument("--forms", nargs=2, choices=_WORKERS, default=["cpu", "ascend"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    for layers in arguments.layers:
        first, second = (
            Contender(form, (sys.executable, worker, str(layers), form), {"OMP_WAIT_POLICY": "passive"})
            for form in arguments.forms
            for worker in (str(Path(__file__).with_name(_WORKERS[form])),)
        )
        report(compare(f"compiling {layers} layers", first, second, rounds=arguments.rounds), arguments.json)


if __name__ == "__main__":
    main()
