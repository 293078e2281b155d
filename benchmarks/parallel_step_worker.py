"""One process, two ways to compute a step: `engine|plain SIZE FOLDER`.

`engine` is mf-train's step, which any number of processes can share. `plain` is the same network, loss, clipping and
optimizer in one graph written here, without anything for several processes, loss scales or overflows.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from train_model import BATCHES, LEARNING_RATE, MAX_NORM, run_configuration

from mf_config import decode, load
from mf_models.threads import sleep_while_waiting

# Before MindSpore is loaded, whose threads read it.
sleep_while_waiting()

from mindspore import ParameterTuple, Tensor, nn, ops  # noqa: E402

from mf_models.kernels import select_kernels  # noqa: E402
from mf_train.assemble import Job  # noqa: E402
from mf_train.start import start_process  # noqa: E402
from mf_train.step.batch_tensors import tensors_of  # noqa: E402
from mf_train.step.update import ParameterUpdate  # noqa: E402
from mf_train.task import Examples  # noqa: E402


class _MeanLoss(nn.Cell):
    def __init__(self, job: Job):
        super().__init__(auto_prefix=False)
        self.model = job.model
        self.objective = job.config.trainer.objective(select_kernels())

    def construct(self, ids_BT: Tensor, labels_BT: Tensor) -> Tensor:
        return self.objective(self.model, ids_BT, labels_BT, None)[0].mean()


class PlainStep(nn.Cell):
    """A training step for one process."""

    def __init__(self, job: Job):
        """Takes the parts of a run."""
        super().__init__(auto_prefix=False)
        job.model.set_train()
        weights, optimizer, kernels = list(job.weights.values()), job.config.optimizer, select_kernels()
        self.update = ParameterUpdate(weights, optimizer.rule(kernels), optimizer.weight_decay)
        self.global_norm = kernels.global_norm
        self.differentiate = ops.value_and_grad(_MeanLoss(job), None, ParameterTuple(weights))

    def construct(self, ids_BT: Tensor, labels_BT: Tensor, number: Tensor, rate: Tensor) -> Tensor:
        """The mean loss before the update."""
        loss, gradients = self.differentiate(ids_BT, labels_BT)
        limit = MAX_NORM / (self.global_norm(gradients) + 1e-6)
        factor = ops.minimum(limit, ops.ones_like(limit))
        clipped: tuple[Tensor, ...] = ()
        for gradient in gradients:
            clipped = (*clipped, gradient * factor)
        return ops.depend(loss, self.update(clipped, number, rate))


def main(what: str, size: str, folder: Path) -> None:
    """Answer rounds."""
    file = folder / "run.yaml"
    file.write_text(run_configuration(size, folder), encoding="utf-8")
    config = decode(load(str(file), [f"output_dir={folder / what}"]))
    job = Job(config, start_process(config))
    batches = [job.examples(step) for step in range(BATCHES[size])]
    plain = PlainStep(job) if what == "plain" else None

    def loss_of(batch: Examples, number: int) -> float:
        if plain is None:
            return job.step(batch, scale=1.0, number=number, learning_rate=LEARNING_RATE).loss
        scalars = (Tensor(np.float32(number)), Tensor(np.float32(LEARNING_RATE)))
        return float(plain(*tensors_of(batch)[:2], *scalars).asnumpy())

    number = 0
    for _ in sys.stdin:
        begin = time.perf_counter()
        for batch in batches:
            number += 1
            loss = loss_of(batch, number)
        answer = {
            "measures": {"step_s": (time.perf_counter() - begin) / len(batches)},
            "result": loss,
            "versions": {name: version(name) for name in ("mindspore", "mf-train")},
        }
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
