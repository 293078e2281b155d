"""What the engine gains by computing requests together, and by finding the beginning of a prompt in its cache.

Both sides are mf, with random weights in the shape of SmolLM2-135M, greedy, two threads, and both must give the same
tokens. The same 16 requests of 64 tokens, which all wait from the beginning, are computed 16 at a time and one at a
time: `all_s` is the time until the last answer of 32 tokens has ended. Then prompts of 512 tokens that another
request began with and 16 of their own, against prompts that begin like no other: `first_token_s` is the time to the
first token.

Example:
    python benchmarks/bench_serving.py --rounds 5
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import ROUNDS, Contender, compare, report

_HERE = Path(__file__).parent
_COMPARISONS = {
    # what is compared: what serving_worker.py is asked for
    "16 requests, 16 at a time and one at a time": ("16-at-a-time", "1-at-a-time"),
    "a prompt that begins with 512 known tokens, and one that is new": ("known", "new"),
}


def main() -> None:
    """Run both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="serving-") as folder:
        subprocess.run([sys.executable, str(_HERE / "decode_mf.py"), "prepare", folder], check=True, cwd=folder)
        for title, names in _COMPARISONS.items():
            worker = str(_HERE / "serving_worker.py")
            contenders = [
                Contender(name, (sys.executable, worker, name, folder), {"OMP_NUM_THREADS": "2"}, stays=True)
                for name in names
            ]
            report(compare(title, *contenders, rounds=options.rounds), options.json)


if __name__ == "__main__":
    main()
