"""One run of `bench_save_load.py`: saves with one library, loads again, and prints what the harness reads.

Usage: save_load_worker.py LIBRARY FOLDER MEGABYTES own|synced|unsynced
"""

import hashlib
import importlib
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

LARGE_BYTES = 16_777_216
"""A weight matrix of 2,048 x 2,048 float32 values; beside each goes one of 2,048, as norms do."""


def make_arrays(nbytes: int) -> dict[str, np.ndarray]:
    """Random float32 arrays of about that size together, the same in every run."""
    random = np.random.Generator(np.random.Philox(7))
    arrays = {}
    for number in range(max(1, nbytes // LARGE_BYTES)):
        arrays[f"layers.{number}.weight"] = random.random((2048, 2048), np.float32)
        arrays[f"layers.{number}.norm"] = random.random(2048, np.float32)
    return arrays


def skip_syncing() -> None:
    """Leave what is written to the system, also in mf-ckpt, as the other libraries do of themselves."""
    os.fsync = lambda descriptor: None
    os.posix_fadvise = lambda descriptor, offset, length, advice: None


def sync_folder(folder: Path) -> None:
    """Wait until every file in a folder, and the folder, is on the disk."""
    for path in (*folder.rglob("*"), folder):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def main() -> None:
    """Measure."""
    library_name, root, megabytes, durability = sys.argv[1:]
    library = importlib.import_module(f"save_load_{library_name}")
    tensors = library.prepare(make_arrays(int(megabytes) * 1_000_000))
    if durability == "unsynced":
        skip_syncing()
    folder = Path(tempfile.mkdtemp(prefix="save-load-", dir=root))
    try:
        # What the system has still to write of other work would be counted here.
        os.sync()
        started, started_cpu = time.perf_counter(), time.process_time()
        library.save(tensors, folder)
        if durability == "synced":
            sync_folder(folder)
        saved, saved_cpu = time.perf_counter(), time.process_time()
        loaded = library.load(folder)
        ended, ended_cpu = time.perf_counter(), time.process_time()
    finally:
        shutil.rmtree(folder)
    digest = hashlib.sha256()
    for name, array in sorted(library.to_numpy(loaded).items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(array))
    output = {
        "measures": {
            "save_s": saved - started,
            "load_s": ended - saved,
            # Of all threads, and less disturbed by other programs on the machine.
            "save_cpu_s": saved_cpu - started_cpu,
            "load_cpu_s": ended_cpu - saved_cpu,
        },
        "result": digest.hexdigest(),
        "versions": {"python": sys.version.split()[0], "numpy": np.__version__, **library.VERSIONS},
    }
    sys.stdout.write("\n" + json.dumps(output) + "\n")


main()
