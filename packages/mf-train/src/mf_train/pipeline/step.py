"""A training step in a pipeline: each process computes the parts of one stage, micro batch after micro batch.

Legend: B rows, T tokens, D model dim.
"""

import gc
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import ParameterTuple, Tensor, nn

from mf_models.layers.dropout import connect_dropout
from mf_parallel.collectives import Transfer
from mf_parallel.pipeline.schedule import Pass
from mf_parallel.pipeline.timeline import Action, Kind
from mf_train.pipeline.graphs import LastPartBackward, PartBackward, PartForward
from mf_train.pipeline.work import StagePart, StageWork
from mf_train.step.batch_tensors import tensors_of
from mf_train.step.graphs import EndOfStep, LossSum, MeanUpdate, Sums
from mf_train.step.rate_kinds import Rates
from mf_train.step.training_step import Outcome, StepRules, any_scalars, outcome_of, scalar_tensors
from mf_train.task import Examples


class PipelineStep:
    """Runs one step after another; the same for its callers as `mf_train.step.training_step.TrainingStep`."""

    def __init__(
        self,
        parts: Sequence[StagePart],
        work: StageWork,
        objective: Callable[..., Any],
        end: MeanUpdate,
        rules: StepRules,
    ):
        """Fixes everything but the data.

        Args:
            parts: the parts of this process's stage, chunk by chunk.
            work: what this process does in a step.
            objective: see `mf_train.task.Task.objective`.
            end: what follows when the gradients of all micro batches are added up.
            rules: what holds for every step.
        """
        sums = Sums(end.update.targets, end.share)
        for part in parts:
            part.network.set_train()
        self._graphs = [_PartGraphs(part, work, objective, sums, end) for part in parts]
        self._end = EndOfStep(sums, end)
        self._work = work
        self._rules = rules
        self._transfers = {stage: Transfer(neighbour) for stage, neighbour in work.neighbours.items()}

    def compile(self, examples: Examples) -> None:
        """Compile the step for batches of this shape; otherwise the first step does.

        Args:
            examples: any rows of this rank.
        """
        # See `mf_train.step.training_step.TrainingStep.compile`.
        gc.collect()
        batch = _MicroBatches(examples, self._work, 1.0)
        for graphs in self._graphs:
            graphs.compile(batch)
        self._end.compile(*any_scalars(self._end.mean_update.update))

    def __call__(
        self,
        examples: Examples,
        *,
        scale: float,
        number: int,
        learning_rate: Rates,
        largest_loss: float = math.inf,
    ) -> Outcome:
        """Do one step; see `mf_train.step.training_step.TrainingStep`."""
        batch = _MicroBatches(examples, self._work, scale)

        def begin(graphs: _PartGraphs, micro: int) -> None:
            row = micro * len(examples.input_ids_BT) // self._work.shape.micros
            self._rules.set_dropout_key(graphs.dropout_key, examples, number, row)

        flow = _Flow(self._graphs, self._transfers, batch, begin)
        for action in self._work.actions:
            flow.do(action)
        scalars = self._end(*scalar_tensors((scale, number, learning_rate, largest_loss)))
        return outcome_of(scalars, self._rules.limits, largest_loss)


class _MicroBatches:
    """The micro batches of one step as tensors."""

    def __init__(self, examples: Examples, work: StageWork, scale: float):
        parts = examples.split(work.shape.micros)
        self._tensors = [tensors_of(part) for part in parts]
        rows, tokens = parts[0].input_ids_BT.shape
        self.nothing_BTD = Tensor(np.zeros((rows, tokens, work.hidden_size), np.float32))
        self.scale = Tensor(scale, ms.float32)

    def ids(self, micro: int) -> Tensor:
        return self._tensors[micro][0]

    def rest(self, micro: int) -> tuple[Tensor | None, ...]:
        """Labels, weights and starts of documents."""
        return self._tensors[micro][1:]

    def document_starts(self, micro: int) -> Tensor | None:
        return self._tensors[micro][3]


class _PartGraphs:
    """The compiled passes of one part."""

    def __init__(self, part: StagePart, work: StageWork, objective: Callable[..., Any], sums: Sums, end: MeanUpdate):
        names = [parameter.name for parameter in end.update.parameters]
        positions = tuple(position for position, name in enumerate(names) if name in part.parameters)
        trained = ParameterTuple([end.update.parameters[position] for position in positions])
        self.is_last = part.part.is_last
        self.takes_ids = part.part.is_first
        self.dropout_key = connect_dropout(part.network)
        self.forward = PartForward(part.network, work.leave)
        self.backward: nn.Cell
        if self.is_last:
            self.backward = LastPartBackward(LossSum(part.network, objective), trained, positions, sums)
        else:
            self.backward = PartBackward(self.forward, trained, positions, sums, self.takes_ids)

    def compile(self, batch: _MicroBatches) -> None:
        x = batch.ids(0) if self.takes_ids else batch.nothing_BTD
        if not self.is_last:
            self.forward.compile(x, batch.document_starts(0))
        self.backward.compile(*self.arguments(batch, 0, x, batch.nothing_BTD))

    def arguments(self, batch: _MicroBatches, micro: int, x: Tensor, gradient_BTD: Tensor | None) -> tuple[Any, ...]:
        """What the backward graph takes."""
        labels_BT, weights_BT, document_starts_BT = batch.rest(micro)
        other = labels_BT if self.is_last else gradient_BTD
        return x, other, weights_BT, document_starts_BT, batch.scale, Tensor(micro == 0)


class _Flow:
    """What is under way between the passes of one step: inputs that are kept, results that wait for their way."""

    def __init__(
        self,
        graphs: Sequence[_PartGraphs],
        transfers: Mapping[int, Transfer],
        batch: _MicroBatches,
        begin: Callable[[_PartGraphs, int], None],
    ):
        """Takes also what is told each pass, by its part and micro batch, before it is computed."""
        self._begin = begin
        self._graphs = graphs
        self._transfers = transfers
        self._batch = batch
        self._inputs: dict[tuple[int, int], Tensor] = {}
        self._results: dict[Pass, Tensor] = {}
        self._arrived: dict[Pass, Tensor] = {}

    def do(self, action: Action) -> None:
        """Compute, send or receive."""
        one = action.one
        if action.kind is Kind.COMPUTE:
            self._backward(one) if one.backward else self._forward(one)
        elif action.kind is Kind.SEND:
            self._transfers[action.peer](self._results.pop(one))
        else:
            self._arrived[one] = self._transfers[action.peer](self._batch.nothing_BTD)

    def _forward(self, one: Pass) -> None:
        graphs, key = self._graphs[one.chunk], (one.chunk, one.micro)
        x = self._batch.ids(one.micro) if graphs.takes_ids else self._arrived.pop(one)
        self._inputs[key] = x
        if not graphs.is_last:
            self._begin(graphs, one.micro)
            self._results[one] = graphs.forward(x, self._batch.document_starts(one.micro))

    def _backward(self, one: Pass) -> None:
        graphs, key = self._graphs[one.chunk], (one.chunk, one.micro)
        gradient = None if graphs.is_last else self._arrived.pop(one)
        self._begin(graphs, one.micro)
        result = graphs.backward(*graphs.arguments(self._batch, one.micro, self._inputs.pop(key), gradient))
        if not graphs.takes_ids:
            self._results[one] = result
