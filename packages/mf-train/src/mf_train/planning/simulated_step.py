"""Compiles the training step of one rank for Ascend without an NPU; this module runs in the simulated process."""

import resource
import time

import numpy as np

from mf_config import decode, load
from mf_parallel.axes import AxisCommunicators
from mf_train.assemble import Job
from mf_train.layout.plans import mesh_of, reads_all_rows
from mf_train.layout.processes import Processes
from mf_train.task import Examples


def compile_step(path: str, overrides: list[str], rank: int, devices: int, rows: list[int]) -> dict[str, float]:
    """Compile what a rank executes in a step.

    Args:
        path: the run configuration.
        overrides: what differs from it.
        rank: the rank.
        devices: ranks of the job.
        rows: rows of a step that are the rank's own, and its tokens of each.

    Returns:
        `seconds` that the compiler took, and `peak_bytes` of memory that this process has held.
    """
    config = decode(load(path, overrides))
    processes = Processes(AxisCommunicators(mesh_of(config, devices), rank))
    job = Job(config, processes)
    own, tokens = rows
    ids_BT = np.zeros((own * (processes.row_groups if reads_all_rows(config) else 1), tokens), np.int32)
    step = job.step
    begin = time.perf_counter()
    step.compile(Examples(ids_BT, ids_BT, np.ones(ids_BT.shape, np.float32)))
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}
