"""One run of `bench_reshard.py`: makes the checkpoint that is cut anew, or cuts it with one program.

Usage: reshard_worker.py prepare mf|mindspore FOLDER MEGABYTES
       reshard_worker.py run LIBRARY mf|mindspore FOLDER
"""

import hashlib
import importlib
import json
import os
import resource
import shutil
import sys
import time
from pathlib import Path

import reshard_model


def peak_bytes() -> int:
    """The most memory that the process, or one that it started, held at once; mapped pages of files included."""
    return 1024 * sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def sync_folder(folder: Path) -> None:
    """Wait until every file in a folder, and the folder, is on the disk."""
    for path in (*folder.rglob("*"), folder):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def run(library_name: str, form: str, root: Path) -> None:
    """Cut the checkpoint once, and print what the harness reads."""
    library = importlib.import_module(f"reshard_{library_name}")
    source, target = root / "source", root / "target"
    job = library.prepare(source, form)
    os.sync()
    before = peak_bytes()
    started = time.perf_counter()
    library.reshard(job, target)
    sync_folder(target)
    seconds = time.perf_counter() - started
    peak = peak_bytes() - before
    digest = hashlib.sha256()
    for name, content in library.contents(target):
        digest.update(name.encode())
        digest.update(content)
    shutil.rmtree(target)
    output = {
        "measures": {"seconds": seconds, "peak_mb": peak / 1e6},
        "result": digest.hexdigest(),
        "versions": {"python": sys.version.split()[0], **library.VERSIONS},
    }
    sys.stdout.write("\n" + json.dumps(output) + "\n")


if sys.argv[1] == "prepare":
    reshard_model.prepare(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
else:
    run(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
