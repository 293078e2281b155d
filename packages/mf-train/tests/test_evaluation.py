"""Evaluation against sums made by hand, and the metrics of sums."""

import math

import numpy as np
import pytest
from mindspore import Tensor, mint, nn

from mf_train.evaluation.evaluator import EvaluationData, Evaluator, LossOfRows
from mf_train.metric import Sums
from mf_train.metrics.perplexity import PerplexityMetric
from mf_train.task import Examples


class Nothing(nn.Cell):
    def construct(self, x):
        return x


def losses(model, input_ids_BT, labels_BT, document_starts_BT) -> tuple[Tensor, tuple[Tensor, ...]]:
    """A loss that can be added up by hand: ten times the input plus the label."""
    return model(input_ids_BT) * 10.0 + mint.mul(labels_BT, 1.0), ()


def batch(first: int, weights) -> Examples:
    ids = np.arange(first, first + 4, dtype=np.int32).reshape(2, 2)
    return Examples(ids, ids + 1, np.array(weights, np.float32))


@pytest.mark.usefixtures("graph_mode")
def test_sums_count_only_what_has_a_weight():
    batches = [batch(0, [[1, 1], [1, 0]]), batch(4, [[0, 1], [0, 0]])]
    token_bytes = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8], np.int64)
    model = Nothing()
    evaluator = Evaluator(model, LossOfRows(model, losses), EvaluationData(lambda: batches, token_bytes))
    # Inputs 0, 1, 2 and 5 with labels 1, 2, 3 and 6 count.
    alone = evaluator.sums(lambda values: values)
    assert alone == Sums(10 * 8 + 12, 4, 1 + 2 + 3 + 6)
    assert evaluator.sums(lambda values: [3 * value for value in values]) == Sums(3 * 92, 12, 36)


def test_perplexities():
    values = PerplexityMetric().values(Sums(loss=60.0, tokens=20, text_bytes=80))
    assert values == pytest.approx({"loss": 3.0, "perplexity": math.e**3, "byte_perplexity": math.e**0.75})


def test_perplexity_of_nothing_and_of_too_much():
    assert PerplexityMetric().values(Sums(0.0, 0, 0)) == {"loss": 0.0, "perplexity": 1.0}
    assert PerplexityMetric().values(Sums(1e6, 1, 1))["perplexity"] == math.inf
