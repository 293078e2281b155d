"""Runs graphs of a small network with operators in C++: `kept_graphs.py FOLDER ORDER SETTINGS`."""

import json
import sys
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

from mf_models.graph_cache import KeptGraph
from mf_models.graph_cache.folder import KeptFiles
from mf_models.kernels import select_kernels

WIDTH = 16


class Loss(nn.Cell):
    """A mean square behind some layers."""

    def __init__(self, layers: int, epsilon: float, seed: int):
        super().__init__()
        self.norm = Parameter(Tensor(np.ones(WIDTH, np.float32)), name="norm")
        drawn = np.random.default_rng(seed).standard_normal((layers, WIDTH, WIDTH)).astype(np.float32)
        self.weights = ParameterTuple([Parameter(Tensor(one / 4), name=f"weight{i}") for i, one in enumerate(drawn)])
        self.rms_norm = select_kernels().rms_norm
        self.epsilon = epsilon

    def construct(self, x: Tensor) -> Tensor:
        for weight in self.weights:
            x = x + ops.tanh(ops.matmul(self.rms_norm(x, self.norm, self.epsilon), weight))
        return (x**2).mean()


class Step(KeptGraph):
    """Changes the weights in place."""

    def __init__(self, loss: Loss, factor: float):
        super().__init__(auto_prefix=False)
        self.weights = ParameterTuple(loss.trainable_params())
        self.differentiate = ops.value_and_grad(loss, None, self.weights)
        self.factor = factor

    def construct(self, x: Tensor) -> Tensor:
        loss, gradients = self.differentiate(x)
        for weight, gradient in zip(self.weights, gradients):  # noqa: B905 - graph code knows no strict
            loss = ops.depend(loss, ops.assign_sub(weight, gradient * self.factor))
        return loss


class Twice(KeptGraph):
    """Another graph of the same weights."""

    def __init__(self, loss: Loss):
        super().__init__(auto_prefix=False)
        self.loss = loss

    def construct(self, x: Tensor) -> Tensor:
        return self.loss(x) * 2


class CountedFiles(KeptFiles):
    """Counts what is written."""

    written = 0

    def write(self, key: str, content: bytes) -> None:
        """One more."""
        self.written += 1
        super().write(key, content)


def main(folder: str, order: str, settings: dict[str, Any]) -> None:
    """Run, and print results and the number of graphs that were written."""
    ms.set_context(mode=ms.GRAPH_MODE)
    kept = CountedFiles(Path(folder), 10**9)
    KeptGraph.kept = kept if folder else None
    told = {"layers": 3, "epsilon": 1e-6, "seed": 1, "factor": 0.1} | settings
    loss = Loss(told["layers"], told["epsilon"], told["seed"])
    graphs = {"step": Step(loss, told["factor"]), "loss": Twice(loss)}
    x = Tensor(np.ones((2, WIDTH), np.float32))
    results = [graphs[name](x).asnumpy().tobytes().hex() for name in order.split()]
    sys.stdout.write("\n" + json.dumps({"results": results, "written": kept.written}) + "\n")


main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
