"""A training on one or two processes of one core each: `LAYOUT SIZE ROWS FOLDER [silent]`; prints one answer.

`cpu_s` is the time that the first process computes in a step, without what it waits for others.

With `silent` the step is computed without collectives: its numbers mean nothing, and the time that it spares is theirs.
"""

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from train_model import LEARNING_RATE, run_configuration

STEPS = 6
LAYOUTS = {
    # processes, and settings by the rows of a step
    "one": (1, "runner_config.batch_size={rows}"),
    "dp": (2, "runner_config.batch_size={half} parallel_config.data_parallel=2"),
    "tp": (2, "runner_config.batch_size={rows} parallel_config.model_parallel=2 parallel_config.vocab_emb_dp=False"),
    "pp": (2, "runner_config.batch_size={eighth} parallel_config.pipeline_stage=2 parallel_config.micro_batch_num=8"),
}
TIMEOUT_S = 900.0
ANSWER = "answer.json"


def main(words: list[str]) -> None:
    """Start the processes, or be one of them."""
    layout, folder = words[0], Path(words[3])
    workers = LAYOUTS[layout][0]
    if workers == 1 or "MS_ROLE" in os.environ:
        train(words)
    else:
        from mf_parallel.testing import run_processes

        done = run_processes([__file__, *words], workers, folder, TIMEOUT_S)
        if done.exit_status != 0:
            sys.exit(done.first_traceback or f"the processes ended with {done.exit_status}")
    sys.stdout.write((folder / ANSWER).read_text(encoding="utf-8") + "\n")


def train(words: list[str]) -> None:
    """Train some steps; the first process writes the answer."""
    layout, size, rows, folder, *silent = words
    rank, cores = int(os.environ.get("RANK_ID", 0)), sorted(os.sched_getaffinity(0))
    # Before MindSpore is loaded, which counts the cores.
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    os.environ.update({"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"})
    config = read_configuration(layout, size, int(rows), Path(folder))
    from mf_train.assemble import Job
    from mf_train.start import start_process

    processes = start_process(config)
    job = Job(config, processes)
    batches = [job.examples(step) for step in range(STEPS + 1)]
    if silent:
        silence()
    job.step.compile(batches[0])
    for number, batch in enumerate(batches, start=1):
        outcome = job.step(batch, scale=1.0, number=number, learning_rate=LEARNING_RATE)
        if number == 1:
            begin, begin_cpu = time.perf_counter(), time.process_time()
    seconds, cpu_seconds = (time.perf_counter() - begin) / STEPS, (time.process_time() - begin_cpu) / STEPS
    if rank == 0:
        answer = {
            "measures": {"step_s": seconds, "cpu_s": cpu_seconds},
            "result": outcome.loss,
            "versions": {name: version(name) for name in ("mindspore", "mf-train")},
        }
        (Path(folder) / ANSWER).write_text(json.dumps(answer), encoding="utf-8")


def read_configuration(layout: str, size: str, rows: int, folder: Path) -> Any:
    """The run configuration of a layout."""
    from mf_config import decode, load

    file = folder / f"{layout}.yaml"
    file.write_text(run_configuration(size, folder), encoding="utf-8")
    workers, settings = LAYOUTS[layout]
    filled = settings.format(rows=rows, half=rows // 2, eighth=rows // 8).split()
    return decode(load(str(file), [f"use_parallel={workers > 1}", "runner_config.epochs=1000", *filled]))


def silence() -> None:
    """Let sums over ranks be what each rank has; what has been compiled before stays."""
    from mf_parallel.collectives import AllReduceSum

    AllReduceSum.construct = _unchanged


def _unchanged(self: Any, x: Any) -> Any:
    return x


main(sys.argv[1:])
