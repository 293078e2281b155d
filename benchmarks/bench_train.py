"""A training step of mf against Hugging Face transformers, eager and with torch.compile.

The same Llama from the same weights on the same batches: forward, backward, clipping, AdamW, float32, two threads each.
Both programs stay, so that neither start nor compilation is in the numbers; a round is eight steps of the small model
or four of the large one, and both must have the same loss after it.

Example:
    python benchmarks/bench_train.py --size small --peer eager compile
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import PEER_PYTHON, ROUNDS, Contender, compare, reason_to_skip, report
from train_model import SIZES

_MF = str(Path(__file__).with_name("train_mf.py"))
_TORCH = str(Path(__file__).with_name("train_torch.py"))
_LARGEST_DIFFERENCE = 2e-3
"""Of the losses: rounding grows over the updates of all rounds."""


def close(one: float, other: float) -> bool:
    """Whether two losses agree."""
    return abs(one - other) <= _LARGEST_DIFFERENCE * abs(one)


def main() -> None:
    """Compare with every peer that is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", nargs="+", choices=SIZES, default=list(SIZES), help="which model")
    parser.add_argument("--peer", nargs="+", choices=("eager", "compile"), default=["eager", "compile"])
    parser.add_argument("--peer-python", default=os.environ.get(PEER_PYTHON, sys.executable))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    reason = reason_to_skip(options.peer_python, "torch, transformers")
    if reason:
        sys.stdout.write(f"skipped, {options.peer_python} can't import torch and transformers: {reason}\n")
        return
    threads = {"OMP_NUM_THREADS": "2"}
    for size in options.size:
        with tempfile.TemporaryDirectory(prefix="train-") as folder:
            subprocess.run([sys.executable, _MF, "prepare", size, folder], check=True, cwd=folder)
            ours = Contender("mf", (sys.executable, _MF, "run", size, folder), threads, stays=True)
            for mode in options.peer:
                command = (options.peer_python, _TORCH, mode, folder)
                peer = Contender(f"transformers {mode}", command, threads, stays=True)
                title = f"training step, {size}, mf and transformers {mode}"
                report(compare(title, ours, peer, rounds=options.rounds, same=close), options.json)


if __name__ == "__main__":
    main()
