"""Compiles a network for Ascend where there is no NPU; this module runs in the simulated process."""

import json
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import ParameterTuple, Tensor, nn

from mf_models.kernels.select import select_kernels
from mf_models.networks import build
from mf_models.registry import config_from_hf
from mf_parallel.simulation.graphs import CompiledGraph, compile_graph

COMPILE = "mf_models.report.ascend:compile_network"
"""For `mf_parallel.simulation.simulate`."""

_ROWS, _TOKENS = 2, 16


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


def logits_graph(model: nn.Cell) -> CompiledGraph:
    """The graph of a network's logits, for two short rows."""
    return compile_graph(model, Tensor(np.zeros((_ROWS, _TOKENS), np.int32)))


def gradients_graph(model: nn.Cell) -> CompiledGraph:
    """The graph of a network's loss and gradients, for two short rows."""
    ids, labels = np.zeros((_ROWS, _TOKENS), np.int32), np.zeros(_ROWS * _TOKENS, np.int32)
    return compile_graph(_Gradients(model), Tensor(ids), Tensor(labels), Tensor(1.0, ms.float32))


def compile_network(path: str, stages: list[str]) -> dict[str, dict[str, int]]:
    """Compile a network with the kernels for Ascend.

    Args:
        path: its directory, of which only config.json is read.
        stages: `forward` for the logits, `backward` for loss and gradients.

    Returns:
        For each stage, how often its graph calls each operator.
    """
    described = Path(path) / "config.json"
    model = build(config_from_hf(json.loads(described.read_text(encoding="utf-8")), str(described)))
    return {stage: dict(_GRAPHS[stage](model).operators()) for stage in stages}


_GRAPHS = {"forward": logits_graph, "backward": gradients_graph}
