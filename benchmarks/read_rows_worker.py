"""Reads random rows of a pair of .bin and .idx files: through mf-data, or by slices of a numpy memory map."""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from mf_data.indexed.files import IndexedFile
from mf_data.indexed.rows import IndexedRows
from mf_data.reading.batches import Batches

_BATCH = 8
_BATCHES = 2000
_VOCABULARY = 50_000


def main() -> None:
    """Arguments: who reads, prefix of the files, tokens of a row; prints the measures as one line of JSON."""
    reader, prefix, width = sys.argv[1], sys.argv[2], int(sys.argv[3])
    file = IndexedFile(prefix)
    rows = IndexedRows(file, width - 1, vocab_size=_VOCABULARY)
    batches = Batches(rows, global_batch_size=_BATCH, seed=1, shuffle=True)
    chosen = [batches.row_indices(step % batches.steps_per_epoch) for step in range(_BATCHES)]
    read = _with_numpy(prefix, width) if reader == "numpy" else lambda indices: rows[indices]["input_ids"]
    for indices in chosen:  # All pages are in memory then, for both.
        read(indices)
    began = time.perf_counter()
    total = sum(int(read(indices)[:, -1].sum()) for indices in chosen)
    seconds = time.perf_counter() - began
    read_rows = _BATCH * _BATCHES
    measures = {"us_per_row": seconds / read_rows * 1e6, "million_tokens_per_s": read_rows * width / seconds / 1e6}
    versions = {name: version(name) for name in ("numpy", "mf-data")}
    sys.stdout.write(json.dumps({"measures": measures, "result": total, "versions": versions}) + "\n")


def _with_numpy(prefix: str, width: int) -> Callable[[NDArray[np.int64]], NDArray[np.int32]]:
    tokens = np.memmap(f"{prefix}.bin", np.uint16, "r")

    def read(indices: NDArray[np.int64]) -> NDArray[np.int32]:
        starts = (indices * (width - 1)).tolist()
        return np.stack([tokens[start : start + width] for start in starts]).astype(np.int32)

    return read


if __name__ == "__main__":
    main()
