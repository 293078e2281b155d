"""Decoding of mf against Hugging Face transformers and llama.cpp, on the CPU with two threads each.

A model of SmolLM2-135M's shape with random weights, greedy, 64 new tokens a row. All programs stay. `first_token_s` is
the time to the first token of all rows, `token_s` that of one more token of each; `share_of_copy` are the bytes of
weights a token over the time, as a part of what a copy in memory moves. In float32 the tokens must be the same. With
8-bit weights the first ones must be: llama.cpp rounds activations too. A peer that ends without an answer is named, and
the others go on.

Example:
    python benchmarks/bench_decode.py --peer eager llama.cpp --batch 1 8 --context 64
"""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import PEER_PYTHON, ROUNDS, Contender, EndedError, compare, reason_to_skip, report, report_unable

_HERE = Path(__file__).parent
_PEERS = {
    # script, its mode, weights of mf
    "eager": ("decode_transformers.py", "eager", "f32"),
    "compile": ("decode_transformers.py", "compile", "f32"),
    "llama.cpp": ("decode_llama_cpp.py", "f32", "f32"),
    "llama.cpp-q8_0": ("decode_llama_cpp.py", "q8_0", "q8_0"),
}
_SAME_TOKENS = 16
"""Of each row: rounding may part rows later."""


def same_tokens(one: list[list[int]], other: list[list[int]]) -> bool:
    """Whether rows begin alike."""
    return [row[:_SAME_TOKENS] for row in one] == [row[:_SAME_TOKENS] for row in other]


def same_first(one: list[list[int]], other: list[list[int]]) -> bool:
    """Whether the first tokens of most rows are alike."""
    return sum(row[0] == peer[0] for row, peer in zip(one, other, strict=True)) * 2 > len(one)


def main() -> None:
    """Compare with every peer that is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", nargs="+", choices=_PEERS, default=list(_PEERS))
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 8], help="rows at a time")
    parser.add_argument("--context", nargs="+", type=int, default=[64, 512], help="tokens of a prompt")
    parser.add_argument("--peer-python", default=os.environ.get(PEER_PYTHON, sys.executable))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    reason = reason_to_skip(options.peer_python, "torch, transformers, llama_cpp")
    if reason:
        sys.stdout.write(f"skipped, {options.peer_python} can't import the peers: {reason}\n")
        return
    threads: dict[str, str | None] = {"OMP_NUM_THREADS": "2"}
    with tempfile.TemporaryDirectory(prefix="decode-") as folder:
        mf = str(_HERE / "decode_mf.py")
        subprocess.run([sys.executable, mf, "prepare", folder], check=True, cwd=folder)
        for name, batch, context in itertools.product(options.peer, options.batch, options.context):
            script, mode, weights = _PEERS[name]
            sizes = (str(batch), str(context))
            ours = Contender("mf", (sys.executable, mf, "run", folder, weights, *sizes), threads, stays=True)
            command = (options.peer_python, str(_HERE / script), mode, folder, *sizes)
            # The peers' threads wait as they like best; those of mf sleep.
            peer = Contender(name, command, threads | {"OMP_WAIT_POLICY": None}, stays=True)
            same = same_tokens if weights == "f32" else same_first
            title = f"decoding, {weights}, {batch} rows after {context} tokens, mf and {name}"
            try:
                report(compare(title, ours, peer, rounds=options.rounds, same=same), options.json)
            except EndedError as error:
                if error.name != peer.name:
                    raise
                report_unable(title, error, options.json)


if __name__ == "__main__":
    main()
