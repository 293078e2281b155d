"""What the trainer adds around its compiled step.

The same run twice: by the trainer with its rows, logs, progress bar and records, and by calls of its compiled step on
batches that are ready. Both programs stay, so that neither start nor compilation is in the times; a round is sixteen
steps, and both must have the same loss after it.

Example:
    python benchmarks/bench_trainer_overhead.py --layers 1 --rounds 10
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import ROUNDS, Contender, compare, report

_WORKER = str(Path(__file__).with_name("trainer_overhead_worker.py"))
_SIZE = "small"


def main() -> None:
    """Compare the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default=_SIZE, help="which model of train_model.py")
    parser.add_argument("--layers", type=int, default=1, help="blocks, by which a step takes about 100 ms")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="trainer-overhead-") as folder:
        arguments = (options.size, str(options.layers), folder)
        subprocess.run([sys.executable, _WORKER, "prepare", *arguments], check=True, cwd=folder)
        contenders = [
            Contender(name, (sys.executable, _WORKER, name, *arguments), {"OMP_NUM_THREADS": "2"}, stays=True)
            for name in ("trainer", "step")
        ]
        title = f"trainer and compiled step, {options.size}, {options.layers} blocks"
        report(compare(title, *contenders, rounds=options.rounds), options.json)


if __name__ == "__main__":
    main()
