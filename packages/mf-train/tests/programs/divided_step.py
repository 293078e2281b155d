"""What a simulated process compiles: the training step of one rank of a job that MindSpore divides."""

import re
from collections import Counter
from typing import Any

import numpy as np
from mindspore.communication import get_rank

from mf_ckpt.formats.mindspore_ckpt.strategy import read_strategy
from mf_config import decode, load
from mf_parallel.automatic.held import differences
from mf_parallel.automatic.marks import reported
from mf_parallel.axes import AxisCommunicators
from mf_parallel.simulation.graphs import saved_graph
from mf_train.assemble import Job
from mf_train.layout.plans import mesh_of
from mf_train.layout.processes import Processes
from mf_train.task import Examples

_COLLECTIVE = re.compile(r" = (AllReduce|AllGather|ReduceScatter|AlltoAll|Send|Receive)\(.*group_rank_ids: \(([^)]*)\)")


def compile_step(path: str, settings: list[str], size: int, rows: int) -> dict[str, Any]:
    """Where weights and optimizer state are divided otherwise than planned, and the collectives of each group."""
    config = decode(load(path, ["use_parallel=True", "context.device_target=Ascend", "do_eval=False", *settings]))
    job = Job(config, Processes(AxisCommunicators(mesh_of(config, size), get_rank())))
    ids_BT = np.zeros((rows, config.model.model_config.seq_length), np.int32)
    step = job.step
    graph = saved_graph(lambda: step.compile(Examples(ids_BT, ids_BT, np.ones(ids_BT.shape, np.float32))))
    found = reported(step.graph)
    strategy = job.division.parallelism.strategy_file
    plan = job.division.held
    states = [{name[len(kind) :]: one for name, one in found.items() if name.startswith(kind)} for kind in _KINDS]
    weights = {name: one for name, one in found.items() if name in plan.parameters}
    return {
        "held": sorted(weights),
        "differences": [differences(plan, group, get_rank()) for group in (weights, *states)],
        "collectives": dict(Counter(f"{name} {ranks}" for name, ranks in _COLLECTIVE.findall(graph.text))),
        "in file": sorted(
            name for stage in read_strategy(strategy).stages.values() for name in stage if name in plan.parameters
        ),
    }


_KINDS = ("adam_m.", "adam_v.")
