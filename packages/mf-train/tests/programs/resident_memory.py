"""Writes what the steps of every process of a job take of memory at most, beyond what it had before its network.

Run it with a folder and a case's name: reads `NAME.json`, run file and settings; leaves `NAME-RANK.json`, bytes.
"""

import json
import sys
from pathlib import Path

import numpy as np

from mf_config import decode, load
from mf_train.assemble import Job
from mf_train.freed_memory import give_back_freed_memory
from mf_train.layout.plans import micro_batches
from mf_train.start import start_process
from mf_train.task import Examples

_STEPS = 3
_RESET_PEAK = "5"
"""See proc_pid_clear_refs(5)."""


def resident(name: str) -> int:
    """Bytes of a line of the process's status: `VmRSS`, what it has in memory; `VmHWM`, the most that it had."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) * 1024


def main(folder: Path, name: str) -> None:
    run_file, settings = json.loads((folder / f"{name}.json").read_text())
    config = decode(load(run_file, settings))
    processes = start_process(config)
    before = resident("VmRSS")
    job = Job(config, processes)
    rows = config.runner_config.batch_size * micro_batches(config, processes.axes.mesh)
    tokens = config.model.model_config.seq_length // config.parallel_config.context_parallel
    ids_BT = np.random.default_rng(0).integers(3, 256, (rows, tokens), dtype=np.int32)
    examples = Examples(ids_BT, ids_BT, np.ones((rows, tokens), np.float32))
    job.step.compile(examples)
    # What the compiler takes is given back before the first step, and is no part of the plan.
    give_back_freed_memory()
    Path("/proc/self/clear_refs").write_text(_RESET_PEAK, encoding="ascii")
    for step in range(_STEPS):
        job.step(examples, scale=1.0, number=step + 1, learning_rate=1e-3)
    (folder / f"{name}-{processes.rank}.json").write_text(json.dumps(resident("VmHWM") - before))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
