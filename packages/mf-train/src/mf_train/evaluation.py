"""Evaluation on held-out rows: sums over all tokens first, metrics of the sums afterwards."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from mindspore import Tensor, nn
from numpy.typing import NDArray

from mf_train.batch_tensors import tensors_of
from mf_train.metric import Sums
from mf_train.task import Examples


@dataclass(frozen=True, slots=True)
class EvaluationData:
    """What is evaluated.

    Attributes:
        batches: gives the batches anew at each call, all of the same shape.
        token_bytes: bytes of text behind each token id, int64 [vocabulary].
    """

    batches: Callable[[], Iterable[Examples]]
    token_bytes: NDArray[np.int64]


class LossOfRows(nn.Cell):
    """The summed loss of each row, float64 on the host afterwards."""

    def __init__(self, model: nn.Cell, objective: Callable[..., Any]):
        """Takes the model and the task's loss, see `mf_train.task.Task.objective`."""
        super().__init__(auto_prefix=False)
        self.model = model
        self.objective = objective

    def construct(
        self, input_ids_BT: Tensor, labels_BT: Tensor, weights_BT: Tensor, document_starts_BT: Tensor | None
    ) -> Tensor:
        """[B], float32."""
        losses_BT, _ = self.objective(self.model, input_ids_BT, labels_BT, document_starts_BT)
        return (losses_BT * weights_BT).sum(-1)


class Evaluator:
    """Evaluates a model on the same rows again and again; compiles once."""

    def __init__(self, model: nn.Cell, losses: Callable[..., Tensor | None], data: EvaluationData):
        """Takes the model, what gives the losses of rows, and the rows.

        Args:
            model: the cells that are evaluated.
            losses: a `LossOfRows`, or a function like it that gives None where another process has the losses.
            data: what is evaluated.
        """
        self._model = model
        self._losses = losses
        self._data = data

    def sums(self, add_up: Callable[[list[float]], list[float]]) -> Sums:
        """Run over all rows.

        Args:
            add_up: adds numbers up over all ranks that have losses of different tokens.
        Returns:
            Sums over the rows of all ranks.
        """
        total = np.zeros(3, np.float64)
        was_training = self._model.training
        # Dropout looks at it when the graph is compiled, that is at the first call.
        self._model.set_train(False)
        for examples in self._data.batches():
            losses_B = self._losses(*tensors_of(examples))
            if losses_B is None:
                continue
            counted = examples.weights_BT > 0
            total += (
                losses_B.asnumpy().astype(np.float64).sum(),
                counted.sum(),
                self._data.token_bytes[examples.labels_BT[counted]].sum(),
            )
        self._model.set_train(was_training)
        loss, tokens, text_bytes = add_up([float(value) for value in total])
        return Sums(loss, int(tokens), int(text_bytes))
