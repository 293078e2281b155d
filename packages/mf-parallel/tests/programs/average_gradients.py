"""Each rank has some rows of one batch; writes the averaged loss and gradients, and what the collectives gave.

Run it with the folder that holds `batch.npz`; it leaves `rank_N.npz` and `rank_N.json` there.
"""

import json
import sys
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import nn, ops

from mf_config.layout import Mesh
from mf_parallel.collectives import Communicator, connect
from mf_parallel.gradients import TokenMean
from mf_parallel.process_group import ProcessGroup

BUCKET_BYTES = 24 * 4
"""Takes loss, token count and the first gradient; the second needs a message of its own."""


class Loss(nn.Cell):
    """Sum of squared errors of two linear maps over the target rows."""

    def __init__(self, first: np.ndarray, second: np.ndarray):
        super().__init__()
        self.first = ms.Parameter(ms.Tensor(first), name="first")
        self.second = ms.Parameter(ms.Tensor(second), name="second")

    def construct(self, x, target, mask):
        error = ops.matmul(ops.tanh(ops.matmul(x, self.first)), self.second) - target
        return ops.sum(ops.sum(error * error, -1) * mask)


class Step(nn.Cell):
    """Sum loss, its gradients, and their mean over the tokens of all ranks."""

    def __init__(self, loss: Loss, communicator: Communicator):
        super().__init__()
        self.weights = ms.ParameterTuple(loss.trainable_params())
        self.grad = ops.value_and_grad(loss, None, self.weights)
        self.mean = TokenMean([weight.shape for weight in self.weights], communicator, bucket_bytes=BUCKET_BYTES)

    def construct(self, x, target, mask):
        loss_sum, gradients = self.grad(x, target, mask)
        loss, tokens, means = self.mean(loss_sum, ops.sum(mask), gradients)
        return loss, tokens, means, gradients


def main(folder: Path) -> None:
    processes = ProcessGroup.from_environment()
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_device("CPU")
    connect(processes)
    mesh = Mesh.of(dp=processes.size)
    communicator = Communicator(processes.rank, mesh.group(processes.rank, ["dp"]))
    batch = np.load(folder / "batch.npz")
    mine = batch["owner"] == processes.rank
    rows = [ms.Tensor(batch[name][mine]) for name in ("x", "target", "mask")]
    loss, tokens, means, local = Step(Loss(batch["first"], batch["second"]), communicator)(*rows)
    found = {"first": means[0], "second": means[1], "local_first": local[0], "loss": loss, "tokens": tokens}
    gathered = communicator.gather({"rank": processes.rank, "text": "ä" * processes.rank, "third": 1 / 3})
    communicator.barrier()
    np.savez(folder / f"rank_{processes.rank}.npz", **{name: value.asnumpy() for name, value in found.items()})
    total = communicator.all_reduce_sum(np.array([[1.5, processes.rank]], np.float32))
    (folder / f"rank_{processes.rank}.json").write_text(json.dumps({"gathered": gathered, "total": total.tolist()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
