"""Opens a pair of .bin and .idx files and reads a shuffled batch, or only imports what that needs."""

import json
import resource
import sys
import time
from importlib.metadata import version

_UNIT = 1024
"""Bytes in which Linux counts memory."""


def main() -> None:
    """Arguments: the prefix of the files; prints the measures as one line of JSON."""
    prefix = sys.argv[1]
    from mf_data.indexed.files import IndexedFile
    from mf_data.indexed.rows import IndexedRows
    from mf_data.reading.batches import Batches

    processor, began = time.process_time(), time.perf_counter()
    rows = IndexedRows(IndexedFile(prefix), 2048, vocab_size=50_000)
    batch = Batches(rows, global_batch_size=8, seed=1, shuffle=True).batch(0)
    measures = {
        "start_s": time.perf_counter() - began,
        "start_cpu_s": time.process_time() - processor,
        "peak_mb": _peak_mb(),
    }
    versions = {name: version(name) for name in ("numpy", "mf-data")}
    result = int(batch.columns["input_ids"].sum())
    sys.stdout.write(json.dumps({"measures": measures, "result": result, "versions": versions}) + "\n")


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT / 1e6


if __name__ == "__main__":
    main()
