"""Evaluation by what the model writes: prompts and wanted answers out of rows, scores of the answers.

Legend: B rows, T tokens.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_data.tokenizers.base import Tokenizer
from mf_train.metric import TextMetric
from mf_train.task import Examples


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt and its answer.

    Attributes:
        prompt: ids of the prompt.
        wanted: text of the answer.
    """

    prompt: list[int]
    wanted: str


def questions_of(batches: Iterable[Examples], tokenizer: Tokenizer) -> Iterator[Question]:
    """The questions of rows: what stands before the first target of a row asks for the targets that follow each other.

    Args:
        batches: the rows; one without a target, such as one that fills a batch up, asks nothing.
        tokenizer: ids to text.
    Raises:
        UserError: rows have no prompt, or several documents.
    """
    for examples in batches:
        for row, weights_T in enumerate(examples.weights_BT):
            places = np.flatnonzero(weights_T > 0)
            if len(places):
                _check_row(examples, row, places)
                first = int(places[0])
                count = int((places == first + np.arange(len(places))).sum())
                wanted = tokenizer.decode(examples.labels_BT[row, first : first + count].tolist())
                yield Question(examples.input_ids_BT[row, : first + 1].tolist(), wanted)


def _check_row(examples: Examples, row: int, places: NDArray[np.int64]) -> None:
    """Refuse a row in which no question can be seen; `places` are those of its targets."""
    if places[0] == 0:
        raise UserError(
            "eval_dataset_task: a row begins with its targets, so there is no prompt to answer. "
            "Allowed, for this metric: a data set of questions and answers."
        )
    if examples.document_starts_BT is not None and examples.document_starts_BT[row, places].any():
        raise UserError("eval_dataset: a row has several documents. Allowed, for this metric: packing: none.")


def mean_scores(
    metrics: Sequence[TextMetric],
    questions: Sequence[Question],
    answers: Sequence[str],
    add_up: Callable[[list[float]], list[float]],
) -> dict[str, float]:
    """The mean of each score over all answers.

    Args:
        metrics: give the scores.
        questions: those of this process.
        answers: one a question.
        add_up: adds numbers up over all processes with different questions.
    Returns:
        Name of each score to its mean; 0 where nothing is asked.
    """
    names = [name for metric in metrics for name in metric.names]
    total = np.zeros(len(names))
    for question, answer in zip(questions, answers, strict=True):
        total += [score for metric in metrics for score in metric.scores(answer, question.wanted)]
    count, *sums = add_up([float(len(questions)), *total.tolist()])
    return {name: score / max(1.0, count) for name, score in zip(names, sums, strict=True)}
