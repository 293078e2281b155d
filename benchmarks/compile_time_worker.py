"""Compiles a train step of a Llama of some layers, forward and backward, and says how long that takes.

    compile_time_worker.py LAYERS FORM

FORM `cpu` compiles for the CPU and runs the first and second step; `ascend` and `ascend-reuse` compile for Ascend in a
simulated process, the second with one graph for all blocks (`mindspore.lazy_inline`); `cpu-reuse` tries that on CPU.
"""

import json
import sys
import time
from importlib.metadata import version

import mindspore as ms
import numpy as np
from mindspore import ParameterTuple, Tensor, nn

from mf_models import build
from mf_models.families.llama import LlamaConfig
from mf_models.kernels import select_kernels
from mf_models.layers import decoder
from mf_parallel.simulation import simulate

TOKENS, BATCH = 128, 2


class Step(nn.Cell):
    """Mean loss and the gradients of all weights."""

    def __init__(self, model: nn.Cell):
        super().__init__(auto_prefix=False)
        self.model = model
        self.cross_entropy = select_kernels().cross_entropy
        self.with_gradients = ms.value_and_grad(self.loss, None, ParameterTuple(model.trainable_params()))

    def loss(self, ids: Tensor, labels: Tensor) -> Tensor:
        """Scalar, of ids [B, T] and labels [B * T]."""
        logits = self.model(ids)
        return self.cross_entropy(logits.reshape((-1, logits.shape[-1])), labels).mean()

    def construct(self, ids: Tensor, labels: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Loss, and a gradient for each weight."""
        return self.with_gradients(ids, labels)


class ReusedBlock(decoder.DecoderBlock):
    """A block whose graph the compiler keeps as one that is called, instead of a copy for each call."""

    @ms.lazy_inline
    def __init__(self, *arguments: object):
        super().__init__(*arguments)


def compile_step(layers: int, reuse: bool, run: bool) -> dict[str, float]:
    """Seconds to compile the step, by the clock and of the processor; where it runs, of the second step too."""
    if reuse:
        decoder.DecoderBlock = ReusedBlock
    config = LlamaConfig(
        hidden_size=256, num_layers=layers, num_heads=8, n_kv_heads=4, vocab_size=4096, seq_length=TOKENS
    )
    step = Step(build(config))
    inputs = Tensor(np.zeros((BATCH, TOKENS), np.int32)), Tensor(np.zeros(BATCH * TOKENS, np.int32))
    begin, busy = time.perf_counter(), time.process_time()
    step.compile(*inputs)
    measures = {"compile_s": time.perf_counter() - begin, "compile_processor_s": time.process_time() - busy}
    if run:
        step(*inputs)[0].asnumpy()
        begin = time.perf_counter()
        step(*inputs)[0].asnumpy()
        measures["step_s"] = time.perf_counter() - begin
    return measures


def main() -> None:
    """Measure one case and print it as one line of JSON."""
    layers, form = int(sys.argv[1]), sys.argv[2]
    device, _, reuse = form.partition("-")
    if device == "ascend":
        arguments: dict[str, object] = {"layers": layers, "reuse": bool(reuse), "run": False}
        measures = simulate("compile_time_worker:compile_step", arguments, search_path=[sys.path[0]])
    else:
        ms.set_context(mode=ms.GRAPH_MODE)
        measures = compile_step(layers, bool(reuse), run=True)
    versions = {"mindspore": version("mindspore")}
    sys.stdout.write(json.dumps({"measures": measures, "result": layers, "versions": versions}))


if __name__ == "__main__":
    main()
