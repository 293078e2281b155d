"""Evaluation on held-out rows: sums over all tokens first, metrics of the sums afterwards."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from mindspore import Tensor, nn
from numpy.typing import NDArray

from mf_models.graph_cache import KeptGraph
from mf_train.metric import Sums
from mf_train.step.batch_tensors import tensors_of
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


class LossOfRows(KeptGraph):
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
        # A name for what the network adds, which is not looked at, would make MindSpore 2.10 warn of it.
        losses_BT = self.objective(self.model, input_ids_BT, labels_BT, document_starts_BT)[0]
        return (losses_BT * weights_BT).sum(-1)


class HitsOfRows(KeptGraph):
    """How many targets of each row are the likeliest."""

    def __init__(self, model: nn.Cell):
        """Takes the model, see `mf_models.layers.causal_lm.CausalLanguageModel`."""
        super().__init__(auto_prefix=False)
        self.model = model

    def construct(
        self, input_ids_BT: Tensor, labels_BT: Tensor, weights_BT: Tensor, document_starts_BT: Tensor | None
    ) -> Tensor:
        """[B], float32."""
        hidden_BTD = self.model.hidden(input_ids_BT, document_starts_BT=document_starts_BT)
        is_right_BT = self.model.head(hidden_BTD).argmax(-1) == labels_BT
        return (is_right_BT.astype(weights_BT.dtype) * weights_BT).sum(-1)


class Evaluator:
    """Evaluates a model on the same rows again and again; compiles once."""

    def __init__(self, model: nn.Cell, values: Callable[..., Tensor | None], data: EvaluationData):
        """Takes the model, what computes a value of each row, and the rows.

        Args:
            model: the cells that are evaluated.
            values: a `LossOfRows` or `HitsOfRows`, or a function like it that gives None where another process has the
                values.
            data: what is evaluated.
        """
        self._model = model
        self._values = values
        self._data = data

    def rows(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Run over all rows.

        Yields:
            Number of a batch, and [B, 3], float64: the value of each row, its targets that count, and the bytes of text
            behind them. Batches whose values another process has are left out.
        """
        was_training = self._model.training
        # Dropout looks at it when the graph is compiled, that is at the first call.
        self._model.set_train(False)
        for step, examples in enumerate(self._data.batches()):
            values_B = self._values(*tensors_of(examples))
            if values_B is None:
                continue
            counted_BT = examples.weights_BT > 0
            bytes_BT = np.where(counted_BT, self._data.token_bytes[examples.labels_BT], 0)
            yield step, np.stack((values_B.asnumpy(), counted_BT.sum(-1), bytes_BT.sum(-1)), -1, dtype=np.float64)
        self._model.set_train(was_training)

    def sums(self, add_up: Callable[[list[float]], list[float]]) -> Sums:
        """Run over all rows.

        Args:
            add_up: adds numbers up over all ranks that have values of different tokens.
        Returns:
            Sums over the rows of all ranks, the values as the loss.
        """
        total = np.zeros(3, np.float64)
        for _, values_B3 in self.rows():
            total += values_B3.sum(0)
        value, tokens, text_bytes = add_up(total.tolist())
        return Sums(value, int(tokens), int(text_bytes))
