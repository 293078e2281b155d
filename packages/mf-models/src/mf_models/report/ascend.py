"""Compiles a network for Ascend where there is no NPU; this module runs in the simulated process."""

import mindspore as ms
import numpy as np
from mindspore import ParameterTuple, Tensor, nn

from mf_models.kernels.select import select_kernels
from mf_models.networks import build
from mf_models.pretrained import read_config
from mf_parallel.simulation.graphs import compile_graph

COMPILE = "mf_models.report.ascend:compile_network"
"""For `mf_parallel.simulation.simulate`."""


class _Gradients(nn.Cell):
    """Mean loss of the next token, and the gradients of all weights."""

    def __init__(self, model: nn.Cell):
        super().__init__(auto_prefix=False)
        self.model = model
        self.cross_entropy = select_kernels().cross_entropy
        self.with_gradients = ms.value_and_grad(self.loss, None, ParameterTuple(model.trainable_params()))

    def loss(self, input_ids_BT: Tensor, labels_N: Tensor, weight: Tensor) -> Tensor:
        """Scalar; `weight` is a scalar that keeps the compiler from computing with known gradients."""
        logits_BTV = self.model(input_ids_BT)
        return self.cross_entropy(logits_BTV.reshape((-1, logits_BTV.shape[-1])), labels_N).mean() * weight

    def construct(self, input_ids_BT: Tensor, labels_N: Tensor, weight: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Loss, and a gradient for each weight."""
        found: tuple[Tensor, tuple[Tensor, ...]] = self.with_gradients(input_ids_BT, labels_N, weight)
        return found


def compile_network(path: str, stages: list[str]) -> dict[str, dict[str, int]]:
    """Compile a network with the kernels for Ascend.

    Args:
        path: its directory; only its configuration is read.
        stages: `forward` for the logits, `backward` for loss and gradients.

    Returns:
        For each stage, how often its graph calls each operator.
    """
    model = build(read_config(path))
    ids = Tensor(np.zeros((2, 16), np.int32))
    found = {}
    for stage in stages:
        if stage == "forward":
            graph = compile_graph(model, ids)
        else:
            graph = compile_graph(_Gradients(model), ids, Tensor(np.zeros(32, np.int32)), Tensor(1.0, ms.float32))
        found[stage] = dict(graph.operators())
    return found
