"""How long `mf-infer generate` takes from the start of its process to the first token.

Both sides are mf: on a machine that has run it before, and with an empty cache folder, so that the C++ kernels are
compiled first. `first_token_s` is the time to the first token of a prompt of 8 tokens, `help_s` that of `mf-infer
generate --help`, `import_s` the time to import the command line in a process that runs already. The models are a golden
model of the tests (57 thousand weights) and random weights in the shape of SmolLM2-135M. Files of the models lie in the
system's memory on both sides.

Example:
    python benchmarks/bench_start_up.py --rounds 5
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import ROUNDS, Contender, compare, report

_HERE = Path(__file__).parent
_SMALL = _HERE.parent / "packages" / "mf-infer" / "tests" / "data" / "llama_gqa"


def main() -> None:
    """Run the comparison for both models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="start-up-") as folder:
        subprocess.run([sys.executable, str(_HERE / "decode_mf.py"), "prepare", folder], check=True, cwd=folder)
        for title, model in (("a model of the tests", _SMALL), ("135M weights", Path(folder) / "mf")):
            worker = str(_HERE / "start_up_worker.py")
            contenders = [
                Contender(name, (sys.executable, worker, name, str(model))) for name in ("again", "first time")
            ]
            report(
                compare(f"from the start to the first token, {title}", *contenders, rounds=options.rounds), options.json
            )


if __name__ == "__main__":
    main()
