"""Compiles the training step of one rank for Ascend without an NPU; this module runs in the simulated process."""

import time

import numpy as np

from mf_config import decode, load
from mf_parallel.axes import AxisCommunicators
from mf_train.assemble import Job
from mf_train.layout.plans import mesh_of
from mf_train.layout.processes import Processes
from mf_train.task import Examples


def compile_step(path: str, overrides: list[str], rank: int, devices: int, rows: list[int]) -> float:
    """Compile what a rank executes in a step.

    Args:
        path: the run configuration.
        overrides: what differs from it.
        rank: the rank.
        devices: ranks of the job.
        rows: rows of a step on the rank, and its tokens of each.

    Returns:
        Seconds that the compiler took.
    """
    config = decode(load(path, overrides))
    job = Job(config, Processes(AxisCommunicators(mesh_of(config, devices), rank)))
    ids_BT = np.zeros(tuple(rows), np.int32)
    step = job.step
    begin = time.perf_counter()
    step.compile(Examples(ids_BT, ids_BT, np.ones(tuple(rows), np.float32)))
    return time.perf_counter() - begin
