"""Memory that MindSpore plans for loss and gradients on a simulated Ascend device; runs in the simulated process."""

import mindspore as ms
import numpy as np
from mindspore import ParameterTuple, Tensor, nn, ops

from mf_config import decode, load
from mf_models.kernels import select_kernels
from mf_parallel.axes import AxisCommunicators
from mf_train.assemble import Job
from mf_train.layout.plans import mesh_of
from mf_train.layout.processes import Processes
from mf_train.step.graphs import LossSum


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


def peaks(path: str, settings: list[list[str]], rank: int, size: int) -> list[int]:
    """Bytes of weights, activations and gradients at most, for each of the settings."""
    found = []
    for overrides in settings:
        config = decode(load(path, overrides))
        before = ms.runtime.memory_allocated()
        ms.runtime.reset_peak_memory_stats()
        job = Job(config, Processes(AxisCommunicators(mesh_of(config, size), rank)))
        rows = (
            config.runner_config.batch_size,
            config.model.model_config.seq_length // config.parallel_config.context_parallel,
        )
        Gradients(job)(Tensor(np.zeros(rows, np.int32)), Tensor(np.ones(rows, np.float32)), Tensor(1.0, ms.float32))
        found.append(ms.runtime.max_memory_allocated() - before)
    return found
