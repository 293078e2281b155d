"""Losses of rows in a pipeline: each batch passes all parts of the network, one after another.

Legend: B rows, T tokens, D model dim.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mindspore import Tensor

from mf_parallel.collectives import Transfer
from mf_train.evaluation.evaluator import LossOfRows
from mf_train.pipeline.graphs import PartForward
from mf_train.pipeline.work import StagePart, StageWork


class PipelineLosses:
    """As `mf_train.evaluation.evaluator.LossOfRows`, over several processes; the last stage has the losses."""

    def __init__(self, parts: Sequence[StagePart], work: StageWork, objective: Callable[..., Any]):
        """Takes the parts of this process, what it does in a step, and the task's loss."""
        self._parts = [part.part for part in parts]
        self._graphs = [
            LossOfRows(part.network, objective) if part.part.is_last else PartForward(part.network, work.leave)
            for part in parts
        ]
        self._transfers = {stage: Transfer(neighbour) for stage, neighbour in work.neighbours.items()}
        self._before, self._behind = work.ring
        self._hidden_size = work.hidden_size

    def __call__(
        self, input_ids_BT: Tensor, labels_BT: Tensor, weights_BT: Tensor, document_starts_BT: Tensor | None
    ) -> Tensor | None:
        """The losses [B], float32; None where this process does not compute the last part."""
        losses = None
        for part, graph in zip(self._parts, self._graphs, strict=True):
            x = input_ids_BT if part.is_first else self._receive(input_ids_BT.shape)
            if part.is_last:
                losses = graph(x, labels_BT, weights_BT, document_starts_BT)
            else:
                self._transfers[self._behind](graph(x, document_starts_BT))
        return losses

    def _receive(self, shape: Sequence[int]) -> Tensor:
        """Hidden states [B, T, D] of the part before."""
        return self._transfers[self._before](Tensor(np.zeros((*shape, self._hidden_size), np.float32)))
