"""Compiles and runs a step of many equal layers on CPU: unrolled, or as one layer in a loop over stacked weights.

loop_over_layers_worker.py LAYERS unrolled|loop
"""

import json
import sys
import time
from importlib.metadata import version

import mindspore as ms
import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

WIDTH, ROWS = 32, 4


class Layers(nn.Cell):
    """x + tanh(x W) for each layer's W; all of them are one parameter [layers, WIDTH, WIDTH]."""

    def __init__(self, layers: int, loop: bool):
        super().__init__()
        weights = np.random.default_rng(0).standard_normal((layers, WIDTH, WIDTH)) / 6
        self.weights = Parameter(Tensor(weights.astype(np.float32)), name="weights")
        self.layers = layers
        self.end = Tensor(layers, ms.int32)
        self.loop = loop

    def construct(self, x: Tensor, first: Tensor) -> Tensor:
        """[ROWS, WIDTH] to [ROWS, WIDTH]; `first` is a scalar 0, a tensor so that the loop stays one."""
        if self.loop:
            while first < self.end:
                x = x + ops.tanh(ops.matmul(x, ops.gather(self.weights, first, 0)))
                first = first + 1
            return x
        for layer in range(self.layers):
            x = x + ops.tanh(ops.matmul(x, self.weights[layer]))
        return x


class Step(nn.Cell):
    """Mean square of the result, and the gradient of the weights."""

    def __init__(self, network: Layers):
        super().__init__()
        self.network = network
        self.with_gradients = ms.value_and_grad(self.loss, None, ParameterTuple([network.weights]))

    def loss(self, x: Tensor, first: Tensor) -> Tensor:
        """Scalar, of [ROWS, WIDTH]."""
        return (self.network(x, first) ** 2).mean()

    def construct(self, x: Tensor, first: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Loss and gradient."""
        return self.with_gradients(x, first)


def main() -> None:
    """Measure one case and print it as one line of JSON."""
    layers, form = int(sys.argv[1]), sys.argv[2]
    ms.set_context(mode=ms.GRAPH_MODE)
    step = Step(Layers(layers, form == "loop"))
    x = Tensor(np.random.default_rng(1).standard_normal((ROWS, WIDTH)).astype(np.float32))
    begin = time.process_time()
    loss, (gradient,) = step(x, Tensor(0, ms.int32))
    result = [f"{float(loss.asnumpy()):.4g}", f"{float(np.abs(gradient.asnumpy()).sum()):.4g}"]
    measures = {"first_step_processor_s": time.process_time() - begin}
    versions = {"mindspore": version("mindspore")}
    sys.stdout.write(json.dumps({"measures": measures, "result": result, "versions": versions}))


if __name__ == "__main__":
    main()
