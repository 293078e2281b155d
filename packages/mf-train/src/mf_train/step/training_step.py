"""One training step: forward, backward, reduction over ranks, clipping, update.

Legend: B rows, T tokens.
"""

import gc
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from mindspore import Parameter, Tensor, nn
from numpy.typing import NDArray

from mf_models.expert_choices import counted_blocks
from mf_models.layers.dropout import connect_dropout, set_dropout_key
from mf_train.step.added_numbers import mean_losses, summed_counts
from mf_train.step.batch_tensors import tensors_of
from mf_train.step.gradient_limits import NO_LIMITS, GradientLimits
from mf_train.step.graphs import (
    AddMicroBatch,
    EndOfStep,
    LossSum,
    MeanUpdate,
    Reduction,
    Scalars,
    Sums,
    WholeStep,
)
from mf_train.step.own_figures import OwnFigures
from mf_train.step.rate_kinds import Rates
from mf_train.step.sharded_update import ShardedUpdate
from mf_train.step.update import ParameterUpdate
from mf_train.task import Examples


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step reports.

    Attributes:
        loss: mean loss of the global batch's tokens, in nats.
        grad_norm: global norm of the mean loss's gradients before clipping.
        tokens: targets that counted, over all ranks.
        overflow: whether the gradients or the loss were not finite, so that nothing changed.
        spike: whether the norm was finite and too large for an update.
        loss_spike: whether the loss was finite and too large for an update.
        added_losses: what the network added to the mean loss, by name; of this rank's rows, and not in `loss`.
        expert_choices: name of each block whose choices are counted, such as `layers.3`, to how often its experts were
            chosen, [E] int64; of this rank's tokens, masked ones among them.
    """

    loss: float
    grad_norm: float
    tokens: int
    overflow: bool
    spike: bool = False
    loss_spike: bool = False
    added_losses: Mapping[str, float] = field(default_factory=dict)
    expert_choices: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)

    @property
    def applied(self) -> bool:
        """Whether parameters and optimizer state changed."""
        return not (self.overflow or self.spike or self.loss_spike) and self.tokens > 0


def outcome_of(scalars: Scalars, limits: GradientLimits, largest_loss: float) -> Outcome:
    """What a step reports, from the scalars that its graph gives.

    Args:
        scalars: loss, norm and tokens, see `Outcome`, [] each.
        limits: see `StepRules`.
        largest_loss: see `TrainingStep.__call__`.
    """
    loss, grad_norm, tokens = (tensor.asnumpy().item() for tensor in scalars)
    is_finite = math.isfinite(grad_norm) and math.isfinite(loss)
    return Outcome(
        loss,
        grad_norm,
        int(tokens),
        not is_finite,
        is_finite and grad_norm >= limits.spike,
        is_finite and loss >= np.float32(largest_loss),
    )


Results = tuple[Scalars, list[list[Tensor]]]


@dataclass(frozen=True, slots=True)
class StepRules:
    """What holds for every step of a run.

    Attributes:
        limits: what is done about large gradients.
        micro_batches: equal parts of a rank's rows that are differentiated one after another, so that the activations
            of one part are in memory at a time.
        seed: what the choices of dropout follow from, with the number of the update and that of the row.
        data_rank: number of this rank among those that share the rows of a step.
        own_figures: keeps this rank's own numbers of each step; None where nobody asks for them.
    """

    limits: GradientLimits = NO_LIMITS
    micro_batches: int = 1
    seed: int = 0
    data_rank: int = 0
    own_figures: OwnFigures | None = None

    def set_dropout_key(self, key: Parameter | None, examples: Examples, number: int, row: int) -> None:
        """Fix what the next pass drops.

        Args:
            key: of the network, see `mf_models.layers.dropout`; None where it has no dropout.
            examples: this rank's rows.
            number: of the update.
            row: number of the first of the rows that the pass takes, among those of the rank.
        """
        if key is not None:
            first_row = self.data_rank * len(examples.input_ids_BT) + row
            set_dropout_key(key, seed=self.seed, step=number, first_row=first_row)


class TrainingStep:
    """Runs one step after another.

    Each rank gives its own rows; loss and gradients are means over the tokens of the global batch, so they do not
    depend on how its rows are spread over ranks and micro batches.
    """

    def __init__(
        self,
        model: nn.Cell,
        objective: Callable[..., Any],
        update: ParameterUpdate | ShardedUpdate,
        reduction: Reduction,
        rules: StepRules,
    ):
        """Fixes everything but the data.

        Args:
            model: the cell that is trained.
            objective: see `mf_train.task.Task.objective`.
            update: the optimizer with the model's parameters.
            reduction: how the gradients of all ranks come together.
            rules: what holds for every step.
        """
        # Graphs take the mode of the model over when they are compiled; see `Evaluator` for the other one.
        model.set_train()
        self._rules, self._dropout_key = rules, connect_dropout(model)
        self._loss_names = model.loss_names
        self._counted_blocks = counted_blocks(model)
        loss_sum = LossSum(model, objective)
        mean_update = MeanUpdate(update, reduction, rules.limits, rules.own_figures)
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

    def __call__(
        self,
        examples: Examples,
        *,
        scale: float,
        number: int,
        learning_rate: Rates,
        largest_loss: float = math.inf,
    ) -> Outcome:
        """Do one step.

        Where the gradients are not finite, they or the loss are a spike, or no target counts, no parameter and no
        optimizer state changes.

        Args:
            examples: this rank's rows.
            scale: loss scale.
            number: the update's number, from 1.
            learning_rate: of this update; with several `rate_kinds` of the optimizer, that of each.
            largest_loss: the loss from which on it is a spike, rounded to float32.
        """

        def begin_part(row: int) -> None:
            self._rules.set_dropout_key(self._dropout_key, examples, number, row)

        scalars, added = self._graphs.run(examples, (scale, number, learning_rate, largest_loss), begin_part)
        return replace(
            outcome_of(scalars, self._rules.limits, largest_loss),
            added_losses=dict(zip(self._loss_names, mean_losses(added), strict=True)),
            expert_choices=dict(zip(self._counted_blocks, summed_counts(added), strict=True)),
        )


class _OneGraph:
    """A step that takes all of a rank's rows at once."""

    def __init__(self, loss_sum: LossSum, mean_update: MeanUpdate):
        self._graph = WholeStep(loss_sum, mean_update)

    def compile(self, examples: Examples) -> None:
        self._graph.compile(*tensors_of(examples), *any_scalars(self._graph.mean_update.update))

    def run(self, examples: Examples, numbers: Sequence[Rates], begin: Callable[[int], None]) -> Results:
        """Do the step.

        Args:
            examples: this rank's rows.
            numbers: scale, number of the update, learning rate and largest loss.
            begin: is told the first of the rows that are differentiated next.
        Returns:
            Mean loss, gradient norm and tokens; and for each micro batch what the network adds to its mean loss.
        """
        begin(0)
        loss, norm, tokens, *added = self._graph(*tensors_of(examples), *scalar_tensors(numbers))
        return (loss, norm, tokens), [added]


class _TwoGraphs:
    """A step that adds up the gradients of several micro batches before it updates."""

    def __init__(self, loss_sum: LossSum, mean_update: MeanUpdate, micro_batches: int):
        update = mean_update.update
        sums = Sums(update.targets, mean_update.share)
        self._add = AddMicroBatch(loss_sum, update.parameters, sums)
        self._end = EndOfStep(sums, mean_update)
        self._micro_batches = micro_batches

    def compile(self, examples: Examples) -> None:
        scalars = any_scalars(self._end.mean_update.update)
        self._add.compile(*tensors_of(examples.split(self._micro_batches)[0]), scalars[0], Tensor(True))
        self._end.compile(*scalars)

    def run(self, examples: Examples, numbers: Sequence[Rates], begin: Callable[[int], None]) -> Results:
        """As `_OneGraph.run`."""
        scalars, added = scalar_tensors(numbers), []
        for index, part in enumerate(examples.split(self._micro_batches)):
            begin(index * len(part.input_ids_BT))
            _, *added_by_part = self._add(*tensors_of(part), scalars[0], Tensor(index == 0))
            added.append(added_by_part)
        return self._end(*scalars), added


def any_scalars(update: ParameterUpdate | ShardedUpdate) -> tuple[Tensor, ...]:
    """Some loss scale, number of an update, learning rate and largest loss, to compile with."""
    kinds = len(update.rate_kinds)
    return scalar_tensors((1.0, 1, 0.0 if kinds == 1 else (0.0,) * kinds, math.inf))


def scalar_tensors(numbers: Sequence[Rates]) -> tuple[Tensor, ...]:
    """Tensors, because a plain number would be compiled in."""
    return tuple(Tensor(np.asarray(number, np.float32)) for number in numbers)
