"""One training step: forward, backward, reduction over ranks, clipping, update.

Legend: B rows, T tokens.
"""

import gc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mindspore as ms
from mindspore import Tensor, nn

from mf_models.kernels import Kernels
from mf_parallel.collectives import Communicator
from mf_parallel.gradients import TokenMean
from mf_train.step_graphs import AddMicroBatch, EndOfStep, LossSum, MeanUpdate, Sums, WholeStep
from mf_train.task import Examples
from mf_train.update import ParameterUpdate


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step reports.

    Attributes:
        loss: mean loss of the global batch's tokens, in nats.
        grad_norm: global norm of the mean loss's gradients before clipping.
        tokens: targets that counted, over all ranks.
        overflow: whether the gradients were not finite, so that nothing changed.
    """

    loss: float
    grad_norm: float
    tokens: int
    overflow: bool

    @property
    def applied(self) -> bool:
        """Whether parameters and optimizer state changed."""
        return not self.overflow and self.tokens > 0


@dataclass(frozen=True, slots=True)
class StepRules:
    """What holds for every step of a run.

    Attributes:
        max_grad_norm: largest global norm of the gradients; None leaves them as they are.
        micro_batches: equal parts of a rank's rows that are differentiated one after another, so that the activations
            of one part are in memory at a time.
    """

    max_grad_norm: float | None = None
    micro_batches: int = 1


class TrainingStep:
    """Runs one step after another.

    Each rank gives its own rows; loss and gradients are means over the tokens of the global batch, so they do not
    depend on how its rows are spread over ranks and micro batches.
    """

    def __init__(
        self,
        model: nn.Cell,
        objective: Callable[..., Any],
        update: ParameterUpdate,
        communicator: Communicator,
        kernels: Kernels,
        rules: StepRules,
    ):
        """Fixes everything but the data.

        Args:
            model: the cell that is trained.
            objective: see `mf_train.task.Task.objective`.
            update: the optimizer with the model's parameters.
            communicator: the data-parallel ranks.
            kernels: the device's operations.
            rules: what holds for every step.
        """
        token_mean = TokenMean([parameter.shape for parameter in update.parameters], communicator)
        loss_sum = LossSum(model, objective)
        mean_update = MeanUpdate(update, token_mean, kernels, rules.max_grad_norm)
        self._graphs: _OneGraph | _TwoGraphs = (
            _OneGraph(loss_sum, mean_update)
            if rules.micro_batches == 1
            else _TwoGraphs(loss_sum, mean_update, rules.micro_batches)
        )

    def compile(self, examples: Examples) -> None:
        """Compile the step for batches of this shape; otherwise the first step does.

        Args:
            examples: any rows of this rank.
        """
        # Freeing the cells of an earlier run makes MindSpore 2.10 number its graphs anew: were that to happen between
        # here and the first step, the step would be compiled once more.
        gc.collect()
        self._graphs.compile(examples)

    def __call__(self, examples: Examples, *, scale: float, number: int, learning_rate: float) -> Outcome:
        """Do one step.

        Where the gradients are not finite, or no target counts, no parameter and no optimizer state changes.

        Args:
            examples: this rank's rows.
            scale: loss scale.
            number: the update's number, from 1.
            learning_rate: rate of this update.
        """
        loss, norm, tokens = self._graphs.run(examples, (scale, number, learning_rate))
        grad_norm = float(norm.asnumpy())
        overflow = not math.isfinite(grad_norm)
        return Outcome(float(loss.asnumpy()), grad_norm, int(tokens.asnumpy()), overflow)


class _OneGraph:
    """A step that takes all of a rank's rows at once."""

    def __init__(self, loss_sum: LossSum, mean_update: MeanUpdate):
        self._graph = WholeStep(loss_sum, mean_update)

    def compile(self, examples: Examples) -> None:
        self._graph.compile(*_arrays(examples), *_scalars((1.0, 1, 0.0)))

    def run(self, examples: Examples, numbers: Sequence[float]) -> tuple[Tensor, ...]:
        """Mean loss, gradient norm and tokens; `numbers` are scale, number of the update and learning rate."""
        result: tuple[Tensor, ...] = self._graph(*_arrays(examples), *_scalars(numbers))
        return result


class _TwoGraphs:
    """A step that adds up the gradients of several micro batches before it updates."""

    def __init__(self, loss_sum: LossSum, mean_update: MeanUpdate, micro_batches: int):
        parameters = mean_update.update.parameters
        sums = Sums(parameters)
        self._add = AddMicroBatch(loss_sum, parameters, sums)
        self._end = EndOfStep(sums, mean_update)
        self._micro_batches = micro_batches

    def compile(self, examples: Examples) -> None:
        scalars = _scalars((1.0, 1, 0.0))
        self._add.compile(*_arrays(examples.split(self._micro_batches)[0]), scalars[0], Tensor(True))
        self._end.compile(*scalars)

    def run(self, examples: Examples, numbers: Sequence[float]) -> tuple[Tensor, ...]:
        """As `_OneGraph.run`."""
        scalars = _scalars(numbers)
        for index, part in enumerate(examples.split(self._micro_batches)):
            self._add(*_arrays(part), scalars[0], Tensor(index == 0))
        result: tuple[Tensor, ...] = self._end(*scalars)
        return result


def _arrays(examples: Examples) -> tuple[Tensor, ...]:
    return tuple(Tensor(array) for array in (examples.input_ids_BT, examples.labels_BT, examples.weights_BT))


def _scalars(numbers: Sequence[float]) -> tuple[Tensor, ...]:
    """Tensors, because a plain number would be compiled in."""
    return tuple(Tensor(float(number), ms.float32) for number in numbers)
