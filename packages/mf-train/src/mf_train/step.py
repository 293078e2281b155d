"""One training step in one graph: forward, backward, reduction over ranks, clipping, update.

Legend: B rows, T tokens.
"""

import gc
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mindspore as ms
from mindspore import Tensor, nn, ops

from mf_models.kernels import Kernels
from mf_parallel.collectives import Communicator
from mf_parallel.gradients import TokenMean
from mf_train.task import Examples
from mf_train.update import ParameterUpdate

_NORM_MARGIN = 1e-6
"""Keeps the clipping factor below its limit in spite of rounding. Source: MindFormers 1.3, core/clip_grad.py."""


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


class _LossSum(nn.Cell):
    """Loss summed over the tokens that count, times the loss scale; and the sum without the scale."""

    def __init__(self, model: nn.Cell, objective: Callable[..., Any]):
        super().__init__(auto_prefix=False)
        self.model = model
        self.objective = objective

    def construct(
        self, input_ids_BT: Tensor, labels_BT: Tensor, weights_BT: Tensor, scale: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Two scalars, float32."""
        total = (self.objective(self.model, input_ids_BT, labels_BT) * weights_BT).sum()
        return total * scale, total


class _StepGraph(nn.Cell):
    """The step as MindSpore compiles it."""

    def __init__(
        self,
        loss_sum: _LossSum,
        update: ParameterUpdate,
        token_mean: TokenMean,
        kernels: Kernels,
        max_grad_norm: float | None,
    ):
        super().__init__(auto_prefix=False)
        self.update = update
        self.token_mean = token_mean
        self.global_norm = kernels.global_norm
        self.max_grad_norm = max_grad_norm
        self.differentiate = ops.value_and_grad(loss_sum, None, update.parameters, has_aux=True)

    def construct(
        self,
        input_ids_BT: Tensor,
        labels_BT: Tensor,
        weights_BT: Tensor,
        scale: Tensor,
        number: Tensor,
        learning_rate: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Mean loss, gradient norm and token count over all ranks, scalars float32."""
        (_, loss_sum), gradients = self.differentiate(input_ids_BT, labels_BT, weights_BT, scale)
        loss, tokens, gradients = self.token_mean(loss_sum, weights_BT.sum(), gradients)
        norm = self.global_norm(gradients) / scale
        factor = 1.0 / scale
        if self.max_grad_norm is not None:
            limit = self.max_grad_norm / (norm + _NORM_MARGIN)
            factor = factor * ops.minimum(limit, ops.ones_like(limit))
        # Without a target there is no gradient: an update would only decay weights and moments.
        if ops.isfinite(norm) and tokens > 0:
            scaled: tuple[Tensor, ...] = ()
            for gradient in gradients:
                scaled = (*scaled, gradient * factor)
            loss = ops.depend(loss, self.update(scaled, number, learning_rate))
        return loss, norm, tokens


class TrainingStep:
    """Runs one step after another.

    Each rank gives its own rows; loss and gradients are means over the tokens of the global batch, so they do not
    depend on how its rows are spread over ranks.
    """

    def __init__(
        self,
        model: nn.Cell,
        objective: Callable[..., Any],
        update: ParameterUpdate,
        communicator: Communicator,
        kernels: Kernels,
        max_grad_norm: float | None,
    ):
        """Fixes everything but the data.

        Args:
            model: the cell that is trained.
            objective: see `mf_train.task.Task.objective`.
            update: the optimizer with the model's parameters.
            communicator: the data-parallel ranks.
            kernels: the device's operations.
            max_grad_norm: largest global norm of the gradients; None leaves them as they are.
        """
        token_mean = TokenMean([parameter.shape for parameter in update.parameters], communicator)
        self._graph = _StepGraph(_LossSum(model, objective), update, token_mean, kernels, max_grad_norm)

    def compile(self, examples: Examples) -> None:
        """Compile the step for batches of this shape; otherwise the first step does.

        Args:
            examples: any rows of this rank.
        """
        # Freeing the cells of an earlier run makes MindSpore 2.10 number its graphs anew: were that to happen between
        # here and the first step, the step would be compiled once more.
        gc.collect()
        self._graph.compile(*_tensors(examples, 1.0, 1, 0.0))

    def __call__(self, examples: Examples, *, scale: float, number: int, learning_rate: float) -> Outcome:
        """Do one step.

        Where the gradients are not finite, or no target counts, no parameter and no optimizer state changes.

        Args:
            examples: this rank's rows.
            scale: loss scale.
            number: the update's number, from 1.
            learning_rate: rate of this update.
        """
        loss, norm, tokens = self._graph(*_tensors(examples, scale, number, learning_rate))
        grad_norm = float(norm.asnumpy())
        overflow = not math.isfinite(grad_norm)
        return Outcome(float(loss.asnumpy()), grad_norm, int(tokens.asnumpy()), overflow)


def _tensors(examples: Examples, scale: float, number: int, learning_rate: float) -> tuple[Tensor, ...]:
    """The inputs of the graph; numbers are tensors too, because a plain number would be compiled in."""
    arrays = (examples.input_ids_BT, examples.labels_BT, examples.weights_BT)
    return (
        *(Tensor(array) for array in arrays),
        *(Tensor(float(value), ms.float32) for value in (scale, number, learning_rate)),
    )
