"""What a training run takes of memory, against what `mf-train plan` counts for its network.

Each program is a whole run of the trainer on a CPU, and tells the most memory that it ever had: with its network, and
with one of as many blocks that are too narrow to count, which leaves what MindSpore, its compiled graphs and the
trainer take themselves. planned_mb is weights, gradients, optimizer and activations by the planner.

Example:
    python benchmarks/bench_memory.py --sizes large --rounds 3
"""

import argparse
import sys
import tempfile
from pathlib import Path

from harness import Contender, compare, report

_WORKER = str(Path(__file__).with_name("memory_worker.py"))
_ROUNDS = 3
_TITLES = {"wide": "with its network", "narrow": "as many narrow blocks"}


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="*", default=("large", "wide"), help="which models of train_model.py")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="at most three are done: memory hardly varies")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memory-") as folder:
        for size in options.sizes:
            command = (sys.executable, _WORKER, size, folder)
            wide, narrow = (Contender(title, (*command, width)) for width, title in _TITLES.items())
            found = compare(f"memory of a run, {size}", wide, narrow, rounds=min(options.rounds, _ROUNDS))
            report(found, options.json)


if __name__ == "__main__":
    main()
