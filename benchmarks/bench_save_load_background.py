"""How long a program stands still for a save: with `mf_ckpt.BackgroundSaver`, against a `Writer` that it waits for.

Each run saves three times. The pause is that of the last save, when the saver has the memory for its copies and the
save before is complete; the total also counts until that checkpoint is on the disk.

Example:
    python benchmarks/bench_save_load_background.py --megabytes 1000
"""

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from harness import ROUNDS, Contender, compare, report

import mf_ckpt

MATRIX_SHAPE = (2048, 2048)
"""16 MiB of float32 values."""

SAVES = 3


def save_in_background(folder: Path, arrays: dict[str, np.ndarray]) -> tuple[float, float]:
    """Seconds of pause and in total of the last save."""
    with mf_ckpt.BackgroundSaver() as saver:
        for step in range(SAVES):
            saver.wait()
            started = time.perf_counter()
            with saver.save(folder / mf_ckpt.step_name(step), step=step) as snapshot:
                for name, array in arrays.items():
                    snapshot.add(name, array)
            paused = time.perf_counter() - started
        saver.wait()
        return paused, time.perf_counter() - started


def save_in_foreground(folder: Path, arrays: dict[str, np.ndarray]) -> tuple[float, float]:
    """Seconds of pause and in total, which are the same, of the last save."""
    for step in range(SAVES):
        started = time.perf_counter()
        with mf_ckpt.Writer(folder / mf_ckpt.step_name(step), step=step) as writer:
            for name, array in arrays.items():
                writer.add(name, array)
        paused = time.perf_counter() - started
    return paused, paused


def run_once(save: Callable[[Path, dict[str, np.ndarray]], tuple[float, float]], root: Path, nbytes: int) -> None:
    """Measure, and print what the harness reads."""
    random = np.random.Generator(np.random.Philox(7))
    count = max(1, nbytes // (4 * MATRIX_SHAPE[0] * MATRIX_SHAPE[1]))
    arrays = {str(number): random.random(MATRIX_SHAPE, np.float32) for number in range(count)}
    folder = Path(tempfile.mkdtemp(prefix="background-", dir=root))
    try:
        paused, total = save(folder, arrays)
        newest = mf_ckpt.latest(folder)
        assert newest is not None
        manifest = (newest / "manifest.json").read_bytes()
    finally:
        shutil.rmtree(folder)
    output = {
        "measures": {"pause_s": paused, "total_s": total},
        "result": hashlib.sha256(manifest).hexdigest(),
        "versions": {"python": sys.version.split()[0], "numpy": np.__version__},
    }
    sys.stdout.write(json.dumps(output) + "\n")


def main() -> None:
    """Compare, or with `--run` be one of the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the checkpoint")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each runs")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="on the disk to be measured")
    parser.add_argument("--json", type=Path, help="add the result to this file, as one JSON object in a line")
    parser.add_argument("--run", choices=("background", "foreground"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        save = save_in_background if options.run == "background" else save_in_foreground
        run_once(save, options.folder, options.megabytes * 1_000_000)
        return
    words = ("--megabytes", str(options.megabytes), "--folder", str(options.folder))
    first, second = (
        Contender(name, (sys.executable, __file__, "--run", name, *words)) for name in ("background", "foreground")
    )
    settings = {"megabytes": options.megabytes, "folder": str(options.folder)}
    title = f"saving {options.megabytes} MB"
    report(compare(title, first, second, rounds=options.rounds, settings=settings), options.json)


main()
