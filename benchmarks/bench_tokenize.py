"""Tokenizing text with `mf-data tokenize` against the tokenizers library called directly with batches.

    python benchmarks/bench_tokenize.py [--megabytes 50] [--json FILE]

Both read the same JSON lines, use all cores and write the ids to the disk. mf-data also starts its processes within the
time, checks every record, and leaves a pair of files that an interrupted run could go on with.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from data_text import make_tokenizer, write_corpus
from harness import ROUNDS, Contender, compare, report

_WORKER = str(Path(__file__).with_name("tokenize_worker.py"))


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=50, help="size of the text")
    parser.add_argument("--vocab-size", type=int, default=16_000, help="entries of the tokenizer")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "mf-benchmarks")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    corpus = arguments.folder / f"text-{arguments.megabytes}.jsonl"
    tokenizer = arguments.folder / f"tokenizer-{arguments.vocab_size}"
    tokenizer.mkdir(parents=True, exist_ok=True)
    write_corpus(corpus, arguments.megabytes)
    make_tokenizer(tokenizer, corpus, arguments.vocab_size)
    ours, peer = (
        Contender(name, (sys.executable, _WORKER, worker, str(corpus), str(tokenizer)))
        for name, worker in (("mf-data tokenize", "mf"), ("tokenizers", "tokenizers"))
    )
    settings = {"megabytes": arguments.megabytes, "vocab_size": arguments.vocab_size}
    title = f"tokenizing {arguments.megabytes} MB"
    report(compare(title, ours, peer, rounds=arguments.rounds, settings=settings), arguments.json)


if __name__ == "__main__":
    main()
