"""Starting on an index of 100 million samples against one of a million: open, check as a whole, read a shuffled batch.

    python benchmarks/bench_index_start.py [--samples 100] [--json FILE]

The index takes 20 bytes a sample on the disk; the file of ids has the size that belongs to it, but no content, so that
it takes no place.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import ROUNDS, Contender, compare, report

from mf_data.indexed.header import HEADER, LENGTH, MAGIC, PLACE, VERSION

_WORKER = str(Path(__file__).with_name("index_start_worker.py"))
_MILLION = 1_000_000
_WIDTH = 2049
_UINT16 = 8
"""Type code of the ids."""


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=100, help="samples of the large index, in millions")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "mf-benchmarks")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    contenders = []
    for millions in (arguments.samples, 1):
        prefix = arguments.folder / f"samples-{millions}m"
        if not prefix.with_suffix(".bin").exists():
            _write(prefix, millions)
        contenders.append(Contender(f"{millions} million", (sys.executable, _WORKER, str(prefix))))
    settings = {"millions": arguments.samples, "tokens_of_a_sample": _WIDTH}
    comparison = compare("starting on an index", *contenders, rounds=arguments.rounds, settings=settings)
    report(comparison, arguments.json)


def _write(prefix: Path, millions: int) -> None:
    sys.stderr.write(f"writing {prefix}.idx, {20 * millions} MB\n")
    prefix.parent.mkdir(parents=True, exist_ok=True)
    count = millions * _MILLION
    with prefix.with_suffix(".idx").open("wb") as file:
        file.write(HEADER.pack(MAGIC, VERSION, _UINT16, count, count + 1))
        for _ in range(millions):
            file.write(np.full(_MILLION, _WIDTH, LENGTH).tobytes())
        for part in range(millions):
            file.write((np.arange(part * _MILLION, (part + 1) * _MILLION, dtype=PLACE) * _WIDTH * 2).tobytes())
        for part in range(millions):
            file.write(np.arange(part * _MILLION, (part + 1) * _MILLION, dtype=PLACE).tobytes())
        file.write(np.array([count], PLACE).tobytes())
    with prefix.with_suffix(".bin").open("wb") as file:
        file.truncate(count * _WIDTH * 2)


if __name__ == "__main__":
    main()
