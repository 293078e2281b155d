"""What a simulated process compiles: the training step of one rank of a job that MindSpore divides."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from mindspore.communication import get_rank

from mf_ckpt.formats.mindspore_ckpt.strategy import read_strategy
from mf_ckpt.formats.mindspore_ckpt.strategy_layouts import from_strategy
from mf_config import decode, load
from mf_parallel.automatic.held import differences, planned_bounds
from mf_parallel.automatic.marks import reported
from mf_parallel.axes import AxisCommunicators
from mf_parallel.plan import ParallelPlan
from mf_parallel.simulation.graphs import saved_graph
from mf_train.assemble import Job
from mf_train.layout.plans import mesh_of
from mf_train.layout.processes import Processes
from mf_train.task import Examples

_COLLECTIVE = re.compile(r" = (AllReduce|AllGather|ReduceScatter|AlltoAll|Send|Receive)\(.*group_rank_ids: \(([^)]*)\)")

_KINDS = ("adam_m.", "adam_v.")


def compile_step(path: str, settings: list[str], size: int, rows: int) -> dict[str, Any]:
    """What MindSpore says of a compiled step.

    Returns:
        held: the weights of the rank.
        differences: where weights and both moments are divided otherwise than planned.
        in file: the weights of the strategy file; file differences: where it says something else than the plan.
        pieces: first element and end of each dimension of each weight.
        collectives: how many there are of each kind and group.
    """
    config = decode(load(path, ["use_parallel=True", "context.device_target=Ascend", "do_eval=False", *settings]))
    job = Job(config, Processes(AxisCommunicators(mesh_of(config, size), get_rank())))
    ids_BT = np.zeros((rows, config.model.model_config.seq_length), np.int32)
    step = job.step
    graph = saved_graph(lambda: step.compile(Examples(ids_BT, ids_BT, np.ones(ids_BT.shape, np.float32))))
    found = reported(step.graph)
    plan, rank = job.division.held, get_rank()
    states = [{name[len(kind) :]: one for name, one in found.items() if name.startswith(kind)} for kind in _KINDS]
    weights = {name: one for name, one in found.items() if name in plan.parameters}
    place = rank % (size // plan.split.stages)
    return {
        "held": sorted(weights),
        "differences": [differences(plan, group, rank) for group in (weights, *states)],
        "pieces": {name: one.bounds(place) for name, one in weights.items()},
        "collectives": dict(Counter(f"{name} {ranks}" for name, ranks in _COLLECTIVE.findall(graph.text))),
        **in_file(job.division.parallelism.strategy_file, plan, rank),
    }


def in_file(path: Path, plan: ParallelPlan, rank: int) -> dict[str, Any]:
    """What the strategy file of the rank says of the weights, as mf-ckpt reads it."""
    strategy = read_strategy(path)
    ((stage, named),) = strategy.stages.items()
    planned = {name: planned_bounds(plan, name, rank) for name in named if name in plan.parameters}
    shapes = {name: tuple(end - first for first, end in bounds) for name, bounds in planned.items()}
    mesh, layouts = from_strategy(strategy, {stage: shapes})
    problems = []
    for name, layout in layouts.items():
        (box,) = layout.boxes(mesh, rank % mesh.size)
        found = tuple(part.indices(length)[:2] for part, length in zip(box.whole, layout.shape, strict=True))
        if (layout.shape, found) != (plan.parameters[name].layout.shape, planned[name]):
            problems.append(f"{name}: {layout.shape}, {found}")
    return {"in file": sorted(planned), "file differences": problems}
