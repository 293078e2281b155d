"""What a simulated process compiles: the training step of one rank of a layout."""

import math

import numpy as np
from mindspore.communication import get_rank

from mf_config import decode, load
from mf_models.kernels import select_kernels
from mf_models.networks import build
from mf_models.weights import shapes_of
from mf_parallel.axes import AxisCommunicators
from mf_parallel.simulation.graphs import compile_graph
from mf_train.layout.division import Division
from mf_train.layout.plans import mesh_of, plans_of
from mf_train.step.batch_tensors import tensors_of
from mf_train.step.gradient_limits import GradientLimits
from mf_train.step.graphs import LossSum, MeanUpdate, WholeStep
from mf_train.step.training_step import scalar_tensors
from mf_train.step.update import ParameterUpdate
from mf_train.task import Examples


def zeros(name: str, part: tuple[slice, ...]) -> np.ndarray:
    return np.zeros([own.stop - own.start for own in part], np.float32)


def operators_of(run_file: str, settings: list[str], size: int) -> dict[str, int]:
    """How often each operator is in the graph."""
    config = decode(load(run_file, ["use_parallel=True", "context.device_target=Ascend", *settings]))
    mesh, cell, kernels = mesh_of(config, size), build(config.model.model_config), select_kernels()
    division = Division(plans_of(config, mesh, shapes_of(cell)), AxisCommunicators(mesh, get_rank()))
    used = division.divide(cell, division.parts[0], zeros)
    rule = config.optimizer.rule(kernels)
    update = division.update(list(used.values()), lambda trained: ParameterUpdate(trained, rule, 0.1))
    cell.set_train()
    loss = LossSum(cell, config.trainer.objective(division.kernels(kernels)))
    step = WholeStep(loss, MeanUpdate(update, division.reduction(update, kernels), GradientLimits(1.0)))
    ids_BT = np.zeros((2, 12), np.int32)
    examples = Examples(ids_BT, ids_BT, np.ones((2, 12), np.float32))
    return dict(compile_graph(step, *tensors_of(examples), *scalar_tensors((1.0, 1, 0.0, math.inf))).operators())
