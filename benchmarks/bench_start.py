"""From the command to the first step of a training, without and with kept graphs.

    python benchmarks/bench_start.py [--layers 4 8 16 24 32] [--json FILE]

Each round starts a program anew. `compiled` finds no graph that was kept, `kept` those that an earlier start left
(variable MF_GRAPHS); everything else that lies in the user's cache is there for both. `inside_s` is the part
that the program itself takes to compile, or to take over, its graphs.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import ROUNDS, Contender, compare, report

_WORKER = str(Path(__file__).with_name("start_worker.py"))
_THREADS = {"OMP_NUM_THREADS": "2"}


def main() -> None:
    """Compare for each number of blocks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, nargs="+", default=[4, 8, 16, 24, 32])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    for layers in options.layers:
        with tempfile.TemporaryDirectory(prefix="start-") as folder:
            subprocess.run([sys.executable, _WORKER, "prepare", str(layers), folder], check=True, cwd=folder)
            compiled, kept = (
                Contender(graphs, (sys.executable, _WORKER, "train", graphs, folder), _THREADS)
                for graphs in ("compiled", "kept")
            )
            title = f"first step, {layers} blocks, graphs compiled and kept"
            report(compare(title, compiled, kept, rounds=options.rounds), options.json)


if __name__ == "__main__":
    main()
