"""A training step that MindSpore's compiler divides among the ranks: one graph, written as for a single device.

Legend: B rows, T tokens.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, mint, nn, ops
from mindspore.nn.wrap.cell_wrapper import _VirtualDatasetCell as VirtualDataset
from mindspore.parallel.nn import GradAccumulation, Pipeline

from mf_config.problems import UserError
from mf_parallel.automatic.context import AutomaticParallelism
from mf_parallel.tensor_tuples import each, picked
from mf_train.step.batch_tensors import tensors_of
from mf_train.step.gradient_limits import NO_LIMITS, GradientLimits
from mf_train.step.rate_kinds import Rates
from mf_train.step.training_step import Outcome, any_scalars, outcome_of, scalar_tensors
from mf_train.step.update import ParameterUpdate
from mf_train.task import Examples

_NORM_MARGIN = 1e-6
"""As in `mf_train.step.graphs`."""

SCALARS = ("scale", "number", "learning_rate")
"""Loss scale, number of the update from 1 on, and its rate."""


@dataclass(frozen=True, slots=True)
class AutomaticRules:
    """What holds for every step of a run.

    Attributes:
        limits: what is done about large gradients.
        micro_batches: equal parts of the rows that are differentiated one after another.
        shares: whether the parallel optimizer divides gradients when they are complete.
    """

    limits: GradientLimits = NO_LIMITS
    micro_batches: int = 1
    shares: bool = False


class MeanLoss(nn.Cell):
    """The loss of a batch whose weights add up to 1 over all ranks and micro batches."""

    def __init__(self, model: nn.Cell, objective: Callable[..., Any], rows: int):
        """Takes the model, the task's loss (see `mf_train.task.Task.objective`), and how many ranks share the rows."""
        super().__init__(auto_prefix=False)
        self.model = model
        self.objective = objective
        self.mul = ops.Mul().shard(((rows, 1), (rows, 1)))
        self.sum = ops.ReduceSum().shard(((rows, 1),))

    def construct(
        self, input_ids_BT: Tensor, labels_BT: Tensor, weights_BT: Tensor, document_starts_BT: Tensor | None = None
    ) -> Tensor:
        """[], with what the network adds."""
        losses_BT, added = self.objective(self.model, input_ids_BT, labels_BT, document_starts_BT)
        total = self.sum(self.mul(losses_BT, weights_BT))
        for added_L in added:
            total = total + added_L.sum() * weights_BT.sum()
        return total


class CalledLoss(MeanLoss):
    """As `MeanLoss`, kept as one graph that is called for each micro batch: a pipeline needs it so."""

    @ms.lazy_inline
    def __init__(self, model: nn.Cell, objective: Callable[..., Any], rows: int):
        """See `MeanLoss`."""
        super().__init__(model, objective, rows)


class GlobalNorm(nn.Cell):
    """Sqrt of the sum of the squares of all gradients, whose pieces lie on several ranks.

    MindSpore knows the sum of squares of a gradient by a mark on what follows it, and adds up over the ranks there.
    """

    def __init__(self) -> None:
        super().__init__(auto_prefix=False)
        self.square = ops.Square()
        self.sum = ops.ReduceSum()
        self.expand = ops.ExpandDims().add_prim_attr("grad_scale", True)

    def construct(self, gradients: tuple[Tensor, ...]) -> Tensor:
        """[]."""
        return ops.sqrt(ops.addn(each(self.sum_of_squares, gradients))).reshape(())

    def sum_of_squares(self, gradient: Tensor) -> Tensor:
        """[1]."""
        return self.expand(self.sum(self.square(gradient), ()).astype(ms.float32), 0)


class AutomaticStep(nn.Cell):
    """What is compiled: loss, gradients, clipping and update of the whole job."""

    def __init__(self, loss: nn.Cell, weights: list[Parameter], update: ParameterUpdate, rules: AutomaticRules):
        """Takes the loss, all weights, the optimizer of those that this process holds, and what holds for every step.

        MindSpore differentiates by all weights, although the stage of a pipeline keeps nothing of the others.
        """
        super().__init__(auto_prefix=False)
        self.loss = loss
        self.loss.set_grad()
        self.loss.add_flags(defer_inline=True)
        self.update = update
        self.weights = ParameterTuple(weights)
        places = {parameter.name: place for place, parameter in enumerate(weights)}
        self.held = tuple(places[parameter.name] for parameter in update.parameters)
        self.gradients_of = ops.GradOperation(get_by_list=True, sens_param=True)
        self.global_norm = GlobalNorm()
        self.limits = rules.limits
        self.max_norm, self.max_value, self.spike = rules.limits.norm, rules.limits.value, rules.limits.spike
        # MindSpore finds them by this name, and adds up in them.
        self.sums_up = rules.micro_batches > 1
        self.sums = self.weights.clone(prefix="accu_grads", init="zeros") if self.sums_up else ParameterTuple(())
        self.shares = rules.shares
        self.one, self.below_all = Tensor(1.0, ms.float32), float("-inf")
        # Inputs would count as rows that the ranks share.
        self.scalars = ParameterTuple(
            [
                Parameter(value, name=f"step.{name}")
                for name, value in zip(SCALARS, any_scalars(update)[: len(SCALARS)], strict=True)
            ]
        )

    @ops.composite.base.add_flags(has_effect=True)
    def construct(
        self,
        input_ids_BT: Tensor,
        labels_BT: Tensor,
        weights_BT: Tensor,
        document_starts_BT: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Loss and gradient norm, [] each.

        Args:
            input_ids_BT: [B, T] int32, rows of this rank.
            labels_BT: likewise.
            weights_BT: [B, T] float32, adding up to 1 over all rows of the job.
            document_starts_BT: [B, T] int32, or None.
        """
        scale = self.scalars[0]
        if document_starts_BT is None:
            loss = self.loss(input_ids_BT, labels_BT, weights_BT)
            gradients = self.gradients_of(self.loss, self.weights)(input_ids_BT, labels_BT, weights_BT, scale)
        else:
            loss = self.loss(input_ids_BT, labels_BT, weights_BT, document_starts_BT)
            gradients = self.gradients_of(self.loss, self.weights)(
                input_ids_BT, labels_BT, weights_BT, document_starts_BT, scale
            )
        gradients = self.held_ones(gradients)
        norm = self.global_norm(gradients) / scale
        factor = 1.0 / scale
        if self.max_norm is not None:
            limit = self.max_norm / (norm + _NORM_MARGIN)
            factor = factor * ops.minimum(limit, ops.ones_like(limit))
        if norm < self.spike:
            scaled = each(ops.partial(self.limited, factor), gradients)
            loss = ops.depend(loss, self.update(scaled, self.scalars[1], self.scalars[2]))
        return loss, norm

    def held_ones(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The gradients of what is held, complete: with several micro batches their sums, which are zeros afterwards.

        Args:
            gradients: of all weights, as MindSpore gives them.
        """
        found: tuple[Tensor, ...] = picked(gradients, self.held)
        return each(self.taken, found, picked(self.sums, self.held)) if self.sums_up else found

    def taken(self, gradient: Tensor, held: Parameter) -> Tensor:
        """The sum over the micro batches of one gradient; it begins anew after that."""
        # Where the optimizer is divided, the gradient is this rank's share of the sum; else the sum is held.
        gradient = (gradient if self.shares else ops.depend(held, gradient)) * self.one
        # Nothing is below that, not even what overflowed. Zeros as such would be constants of the graph, whose memory
        # counts.
        zeros = (ops.depend(held, gradient) < self.below_all).astype(held.dtype)
        return ops.depend(gradient, ops.assign(held, zeros))

    def limited(self, factor: Tensor, gradient: Tensor) -> Tensor:
        """A gradient as the optimizer takes it."""
        gradient = gradient.astype(ms.float32) * factor
        return gradient if self.max_value is None else mint.clamp(gradient, -self.max_value, self.max_value)


def loss_of_rows(model: nn.Cell, objective: Callable[..., Any], parallelism: AutomaticParallelism, parts: int) -> Any:
    """The loss of all rows of a rank: the sum over its micro batches, which follow each other through a pipeline.

    Args:
        model: the network.
        objective: see `mf_train.task.Task.objective`.
        parallelism: what MindSpore is told of the job.
        parts: micro batches.
    """
    if parallelism.stages > 1:
        return VirtualDataset(Pipeline(CalledLoss(model, objective, parallelism.row_ranks), parts))
    if parts > 1:
        return VirtualDataset(GradAccumulation(CalledLoss(model, objective, parallelism.row_ranks), parts))
    return MeanLoss(model, objective, parallelism.row_ranks)


class DividedStep:
    """Runs one step after another; the same for its callers as `mf_train.step.training_step.TrainingStep`."""

    def __init__(
        self,
        graph: AutomaticStep,
        parallelism: AutomaticParallelism,
        count: Callable[[float], float],
        check: Callable[[], None],
        settle: Callable[[], None],
    ):
        """Takes the parts.

        Args:
            graph: what is compiled.
            parallelism: what MindSpore is told of the job.
            count: adds up the tokens of all ranks with different rows.
            check: refuses what the compiler divides otherwise than planned.
            settle: fills the parameters, once they are divided.
        """
        self.graph = graph
        self._parallelism = parallelism
        self._count = count
        self._check = check
        self._settle = settle
        self._is_compiled = False

    def compile(self, examples: Examples) -> None:
        """Compile the step for batches of this shape without memory for its parameters, so that it can't run.

        Args:
            examples: any rows of this rank.

        Raises:
            UserError: the compiler divides a parameter otherwise than planned.
        """
        for parameter in self.graph.get_parameters():
            # MindSpore then divides the shape alone of what has no values yet.
            parameter.init_param = True
        self._compile(examples)

    def _compile(self, examples: Examples) -> None:
        arrays = [array for array in tensors_of(examples) if array is not None]
        with self._parallelism.active(len(arrays)):
            self.graph.compile(*arrays)
        self._check()

    def __call__(
        self,
        examples: Examples,
        *,
        scale: float,
        number: int,
        learning_rate: Rates,
        largest_loss: float = math.inf,
    ) -> Outcome:
        """Do one step; see `mf_train.step.training_step.TrainingStep`. The loss has in it what the network adds.

        A largest loss is no part of it: not every stage of a pipeline knows the loss.

        Raises:
            UserError: the compiler searches for the layout, so that nothing says what this rank's weights are.
        """
        if self._parallelism.search is not None:
            raise UserError(
                "parallel.parallel_mode: AUTO_PARALLEL is compiled by mf-train plan alone, for its layout is no plan. "
                "Allowed: SEMI_AUTO_PARALLEL, HYBRID_PARALLEL."
            )
        if not self._is_compiled:
            self._compile(examples)
            self._settle()
            self._is_compiled = True
        tokens = self._count(float(np.sum(examples.weights_BT)))
        if tokens == 0:
            return Outcome(0.0, 0.0, 0, False)
        shares = replace(examples, weights_BT=(examples.weights_BT / tokens).astype(np.float32))
        for parameter, value in zip(self.graph.scalars, scalar_tensors((scale, number, learning_rate)), strict=True):
            parameter.set_data(value)
        loss, norm = self.graph(*(array for array in tensors_of(shares) if array is not None))
        return outcome_of((loss, norm, Tensor(tokens, ms.float32)), self.graph.limits, largest_loss)
