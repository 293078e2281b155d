"""Evaluation on held-out rows: sums over all tokens first, metrics of the sums afterwards."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from mindspore import Tensor, nn
from numpy.typing import NDArray

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


class _LossOfRows(nn.Cell):
    """The summed loss of each row, float64 on the host afterwards."""

    def __init__(self, model: nn.Cell, objective: Callable[..., Any]):
        super().__init__(auto_prefix=False)
        self.model = model
        self.objective = objective

    def construct(self, input_ids_BT: Tensor, labels_BT: Tensor, weights_BT: Tensor) -> Tensor:
        """[B], float32."""
        return (self.objective(self.model, input_ids_BT, labels_BT) * weights_BT).sum(-1)


class Evaluator:
    """Evaluates a model on the same rows again and again; compiles once."""

    def __init__(self, model: nn.Cell, objective: Callable[..., Any], data: EvaluationData):
        """Takes the model, the task's loss and the rows."""
        self._graph = _LossOfRows(model, objective)
        self._data = data

    def sums(self, add_up: Callable[[list[float]], list[float]]) -> Sums:
        """Run over all rows.

        Args:
            add_up: adds numbers up over all data-parallel ranks.
        Returns:
            Sums over the rows of all ranks.
        """
        total = np.zeros(3, np.float64)
        for examples in self._data.batches():
            losses_B = self._graph(
                Tensor(examples.input_ids_BT), Tensor(examples.labels_BT), Tensor(examples.weights_BT)
            )
            counted = examples.weights_BT > 0
            total += (
                losses_B.asnumpy().astype(np.float64).sum(),
                counted.sum(),
                self._data.token_bytes[examples.labels_BT[counted]].sum(),
            )
        loss, tokens, text_bytes = add_up([float(value) for value in total])
        return Sums(loss, int(tokens), int(text_bytes))
