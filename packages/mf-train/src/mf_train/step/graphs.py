"""What MindSpore compiles of a training step: gradients, their sums over micro batches and ranks, clipping, update.

A step of one micro batch is one graph. A step of several ones adds their gradients up by one graph, and ends with
another, which reduces over the ranks once.

Legend: B rows, T tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, mint, nn, ops

from mf_models.expert_choices import is_count
from mf_models.graph_cache import KeptGraph
from mf_parallel.gradient_shares import GradientShares
from mf_parallel.gradients import TokenSums, per_token
from mf_parallel.tensor_tuples import each
from mf_train.step.gradient_limits import GradientLimits
from mf_train.step.own_figures import OwnFigures
from mf_train.step.sharded_update import ShardedUpdate
from mf_train.step.update import ParameterUpdate

_NORM_MARGIN = 1e-6
"""Keeps the clipping factor below its limit in spite of rounding. Source: MindFormers 1.3, core/clip_grad.py."""

Scalars = tuple[Tensor, Tensor, Tensor]


class LossSum(nn.Cell):
    """Loss summed over the tokens that count: what is differentiated, and what is reported."""

    def __init__(self, model: nn.Cell, objective: Callable[..., Any]):
        """Takes the model and the task's loss, see `mf_train.task.Task.objective`."""
        super().__init__(auto_prefix=False)
        self.model = model
        self.objective = objective

    def construct(
        self,
        input_ids_BT: Tensor,
        labels_BT: Tensor,
        weights_BT: Tensor,
        document_starts_BT: Tensor | None,
        scale: Tensor,
    ) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """Two scalars and what the network adds.

        Returns:
            The sum of the losses, with what the network adds to the loss of each token, times the loss scale; the sum
            without both; and what is added to the mean and counted beside it, see `mf_train.task.Task.objective`.
        """
        losses_BT, added = self.objective(self.model, input_ids_BT, labels_BT, document_starts_BT)
        total = (losses_BT * weights_BT).sum()
        whole = total
        for added_L in added:
            if not is_count(added_L):
                whole = whole + added_L.sum() * weights_BT.sum()
        return whole * scale, total, added


@dataclass(frozen=True, slots=True)
class Reduction:
    """How the gradients of all ranks come together.

    Attributes:
        token_sums: the sum over ranks, of the gradients of the optimizer's parameters.
        global_norm: the norm of all these gradients; `mf_models.kernels.global_norm` where each rank has all of them.
        share: divides them among ranks before micro batches add up; None where each rank adds up its own.
    """

    token_sums: TokenSums
    global_norm: Callable[..., Any]
    share: GradientShares | None = None


class MeanUpdate(nn.Cell):
    """From sums over this rank's tokens to the mean over all ranks' tokens, and with it one update."""

    def __init__(
        self,
        update: ParameterUpdate | ShardedUpdate,
        reduction: Reduction,
        limits: GradientLimits,
        own_figures: OwnFigures | None = None,
    ):
        """Takes the optimizer, how gradients come together, what is done about large ones, and what keeps numbers."""
        super().__init__(auto_prefix=False)
        self.own_figures = own_figures
        self.update = update
        self.token_sums = reduction.token_sums
        self.global_norm = reduction.global_norm
        self.share = reduction.share
        self.max_norm, self.max_value, self.spike = limits.norm, limits.value, limits.spike

    def construct(
        self,
        loss_sum: Tensor,
        token_count: Tensor,
        gradients: tuple[Tensor, ...],
        scale: Tensor,
        number: Tensor,
        learning_rate: Tensor,
        largest_loss: Tensor,
    ) -> Scalars:
        """Mean loss, gradient norm and token count over all ranks, scalars float32.

        Args:
            loss_sum: [], without the loss scale.
            token_count: [], targets that count.
            gradients: of the sum, times the loss scale; one a parameter, shaped like it.
            scale: [], loss scale.
            number: [], number of this update, 1 for the first.
            learning_rate: [], or [K], see `mf_train.step.update.ParameterUpdate`.
            largest_loss: [], the mean loss from which on nothing is updated.
        """
        total, tokens, gradients = self.token_sums(loss_sum, token_count, gradients)
        loss = total * per_token(tokens)
        # Gradients are as large as the network: mean, loss scale and clipping are one product, after their norm.
        factor = per_token(tokens) / scale
        if self.own_figures is not None:
            loss = ops.depend(loss, self.own_figures(loss_sum, token_count, gradients, factor))
        norm = self.global_norm(gradients) * factor
        if self.max_norm is not None:
            limit = self.max_norm / (norm + _NORM_MARGIN)
            factor = factor * ops.minimum(limit, ops.ones_like(limit))
        # What is no number is below nothing. Without a target an update would only decay weights and moments.
        if norm < self.spike and loss < largest_loss and tokens > 0:
            scaled = each(ops.partial(self.limited, factor), gradients)
            loss = ops.depend(loss, self.update(scaled, number, learning_rate))
        return loss, norm, tokens

    def limited(self, factor: Tensor, gradient: Tensor) -> Tensor:
        """A gradient as the optimizer takes it."""
        gradient = gradient * factor
        return gradient if self.max_value is None else mint.clamp(gradient, -self.max_value, self.max_value)


class WholeStep(KeptGraph):
    """A step of one micro batch."""

    def __init__(self, loss_sum: LossSum, mean_update: MeanUpdate):
        """Takes the loss and what follows the gradients."""
        super().__init__(auto_prefix=False)
        self.mean_update = mean_update
        self.differentiate = ops.value_and_grad(loss_sum, None, mean_update.update.parameters, has_aux=True)

    def construct(
        self,
        input_ids_BT: Tensor,
        labels_BT: Tensor,
        weights_BT: Tensor,
        document_starts_BT: Tensor | None,
        *scalars: Tensor,
    ) -> tuple[Tensor, ...]:
        """See `MeanUpdate.construct`, also for scalars; what the network adds to the loss follows, see `LossSum`."""
        (_, loss_sum, added), gradients = self.differentiate(
            input_ids_BT, labels_BT, weights_BT, document_starts_BT, scalars[0]
        )
        result: Scalars = self.mean_update(loss_sum, weights_BT.sum(), gradients, *scalars)
        return (*result, *added)


class Sums(nn.Cell):
    """What the micro batches of a step add up to on this rank."""

    def __init__(self, targets: ParameterTuple, share: GradientShares | None = None):
        """Takes tensors shaped like the sums, and what divides gradients among ranks before they are added up, if any.

        Args:
            targets: the trained parameters; pieces of those whose gradients are divided.
            share: divides the gradients; None where each rank adds up its own.
        """
        super().__init__(auto_prefix=False)
        self.share = share
        self.loss = Parameter(Tensor(np.zeros((), np.float32)), name="accumulated.loss")
        self.tokens = Parameter(Tensor(np.zeros((), np.float32)), name="accumulated.tokens")
        self.gradients = targets.clone(prefix="accumulated", init="zeros")

    def adder(self, positions: tuple[int, ...]) -> "AddGradients":
        """A cell that adds the gradients of some parameters up.

        Args:
            positions: which of them.
        """
        share = None if self.share is None else self.share.of(positions)
        return AddGradients(ParameterTuple([self.gradients[position] for position in positions]), share)


class AddGradients(nn.Cell):
    """Adds gradients to their sums."""

    def __init__(self, sums: ParameterTuple, share: GradientShares | None):
        """Takes the sums, and what divides gradients among ranks before, if any."""
        super().__init__(auto_prefix=False)
        self.sums = sums
        self.share = share

    def construct(self, gradients: tuple[Tensor, ...], is_first: Tensor) -> Tensor:
        """Begin the sums anew with `is_first`, bool [], else add: by a choice and no product with 0.

        The sums of an overflow are not finite. The result says nothing.
        """
        if self.share is not None:
            gradients = self.share(gradients)
        for held, gradient in zip(self.sums, gradients):  # noqa: B905 - graph code knows no strict
            wide = gradient.astype(held.dtype)
            ops.assign(held, mint.where(is_first, wide, held + wide))
        return is_first


class AddMicroBatch(KeptGraph):
    """Adds one micro batch to the sums."""

    def __init__(self, loss_sum: LossSum, parameters: ParameterTuple, sums: Sums):
        """Takes the loss, the parameters that are trained, and where the sums are kept."""
        super().__init__(auto_prefix=False)
        self.sums = sums
        self.add = sums.adder(tuple(range(len(parameters))))
        self.differentiate = ops.value_and_grad(loss_sum, None, parameters, has_aux=True)

    def construct(
        self,
        input_ids_BT: Tensor,
        labels_BT: Tensor,
        weights_BT: Tensor,
        document_starts_BT: Tensor | None,
        scale: Tensor,
        is_first: Tensor,
    ) -> tuple[Tensor, ...]:
        """The sum of the losses so far, [], float32, and what the network adds to the loss, see `LossSum`.

        With `is_first`, bool [], the sums begin anew: by a choice and no product with 0, because the sums of an
        overflow are not finite.
        """
        (_, loss_sum, added), gradients = self.differentiate(
            input_ids_BT, labels_BT, weights_BT, document_starts_BT, scale
        )
        self.add(gradients, is_first)
        tokens = weights_BT.sum()
        ops.assign(self.sums.tokens, mint.where(is_first, tokens, self.sums.tokens + tokens))
        return ops.assign(self.sums.loss, mint.where(is_first, loss_sum, self.sums.loss + loss_sum)), *added


class EndOfStep(KeptGraph):
    """The update by the sums of all micro batches.

    After its first run the parameters may change in place only: MindSpore 2.10 goes on updating the old tensor of a
    parameter that `set_data` gave a new one, where a graph has it in a branch alone.
    """

    def __init__(self, sums: Sums, mean_update: MeanUpdate):
        """Takes the sums and what follows the gradients."""
        super().__init__(auto_prefix=False)
        self.sums = sums
        self.mean_update = mean_update

    def construct(self, scale: Tensor, number: Tensor, learning_rate: Tensor, largest_loss: Tensor) -> Scalars:
        """See `MeanUpdate.construct`."""
        sums = self.sums
        result: Scalars = self.mean_update(
            sums.loss, sums.tokens, sums.gradients, scale, number, learning_rate, largest_loss
        )
        return result
