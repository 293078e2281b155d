"""Memory that MindSpore plans for the passes of a step on a simulated Ascend device; runs in the simulated process.

The update is left out: MindSpore plans no memory of a graph with a branch where no device is.
"""

import gc
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import ParameterTuple, Tensor, nn, ops

import mf_train.pipeline.step
import mf_train.step.training_step
from mf_config import decode, load
from mf_models.kernels import select_kernels
from mf_parallel.axes import AxisCommunicators
from mf_train.assemble import Job
from mf_train.layout.plans import mesh_of, micro_batches
from mf_train.layout.processes import Processes
from mf_train.step.graphs import LossSum
from mf_train.task import Examples


class Gradients(nn.Cell):
    """Loss and gradients, without what follows them in a step."""

    def __init__(self, job: Job):
        super().__init__(auto_prefix=False)
        job.model.set_train()
        self.loss = LossSum(job.model, job.config.trainer.objective(job.division.kernels(select_kernels())))
        self.differentiate = ops.value_and_grad(self.loss, None, ParameterTuple(job.weights.values()), has_aux=True)

    def construct(self, ids_BT: Tensor, weights_BT: Tensor, scale: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Loss and gradients of the weights."""
        (_, loss, _), gradients = self.differentiate(ids_BT, ids_BT, weights_BT, None, scale)
        return loss, gradients


class NoEnd:
    """Stands for `mf_train.step.graphs.EndOfStep`."""

    def __init__(self, _sums: nn.Cell, mean_update: nn.Cell):
        self.mean_update = mean_update

    def __call__(self, *scalars: Tensor) -> tuple[Tensor, ...]:
        return scalars[:3]


for module in (mf_train.pipeline.step, mf_train.step.training_step):
    module.EndOfStep = NoEnd


def peaks(path: str, settings: list[list[str]], rank: int, size: int) -> list[int]:
    """Bytes of weights, sums, activations and gradients at most, for each of the settings."""
    found = []
    for overrides in settings:
        config = decode(load(path, overrides))
        gc.collect()
        before = ms.runtime.memory_allocated()
        ms.runtime.reset_peak_memory_stats()
        run_passes(Job(config, Processes(AxisCommunicators(mesh_of(config, size), rank))))
        found.append(ms.runtime.max_memory_allocated() - before)
    return found


def run_passes(job: Job) -> Any:
    """Compute all passes of a step."""
    config, parts = job.config, micro_batches(job.config, job.processes.axes.mesh)
    tokens = config.model.model_config.seq_length // config.parallel_config.context_parallel
    ids_BT = np.zeros((config.runner_config.batch_size * parts, tokens), np.int32)
    weights_BT = np.ones(ids_BT.shape, np.float32)
    if parts == 1:
        return Gradients(job)(Tensor(ids_BT), Tensor(weights_BT), Tensor(1.0, ms.float32))
    return job.step(Examples(ids_BT, ids_BT, weights_BT), scale=1.0, number=1, learning_rate=0.0)
