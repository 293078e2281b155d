"""Reading random rows of 2,048 tokens out of .bin and .idx files against slices of a numpy memory map.

    python benchmarks/bench_read_rows.py [--megabytes 400] [--json FILE]

mf-data also checks that every id is in the vocabulary. The files are in memory for both; the disk does not count.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import ROUNDS, Contender, compare, report

from mf_data.indexed.writer import IndexedWriter

_WORKER = str(Path(__file__).with_name("read_rows_worker.py"))
_DOCUMENT = 10_000
"""Ids of a document."""


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=400, help="size of the file of ids")
    parser.add_argument("--seq-length", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "mf-benchmarks")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    prefix = arguments.folder / f"ids-{arguments.megabytes}"
    if not prefix.with_suffix(".idx").exists():
        write_ids(prefix, arguments.megabytes)
    width = str(arguments.seq_length + 1)
    ours, peer = (Contender(name, (sys.executable, _WORKER, name, str(prefix), width)) for name in ("mf-data", "numpy"))
    settings = {"megabytes": arguments.megabytes, "seq_length": arguments.seq_length}
    report(compare("reading rows", ours, peer, rounds=arguments.rounds, settings=settings), arguments.json)


def write_ids(prefix: Path, megabytes: int) -> None:
    """Write random ids of two bytes as a pair of .bin and .idx files."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    with IndexedWriter(prefix, np.uint16) as writer:
        for _ in range(megabytes * 1_000_000 // 2 // _DOCUMENT):
            writer.add_document([generator.integers(0, 50_000, _DOCUMENT, np.uint16)])


if __name__ == "__main__":
    main()
