"""Evaluation by choice: what a model makes of the answers of questions, out of sums over rows."""

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_data.reading.batches import Batches
from mf_data.rows.data_set import Rows
from mf_data.texts.choices import ChoiceRows, Question
from mf_train.evaluation.evaluator import Evaluator
from mf_train.layout.processes import Processes
from mf_train.metric import WeighedQuestion


def weigh(rows: Rows, batches: Batches, evaluator: Evaluator, processes: Processes) -> list[WeighedQuestion]:
    """The questions of the held-out rows with the likelihoods of their answers, those of all processes.

    Args:
        rows: the held-out rows.
        batches: the same in global batches.
        evaluator: gives the losses of this process's rows.
        processes: this process among the others.
    Raises:
        UserError: the rows are no answers to questions, or not all of them are read.
    """
    if not isinstance(rows, ChoiceRows):
        raise UserError(
            "metric: chooses between answers, and the rows of eval_dataset are none. Allowed: eval_dataset_task "
            "MultipleChoiceDataset, without num_samples in its data_loader; or other metrics."
        )
    read = sum(len(batches.row_indices(step)) for step in range(batches.steps_per_epoch))
    if read < len(rows):
        raise UserError(
            f"eval_dataset.drop_remainder: True leaves out {len(rows) - read} of {len(rows)} answers. Allowed: False."
        )
    sums_N3 = np.zeros((len(rows), 3))
    for step, sums_B3 in evaluator.rows():
        own = batches.row_indices_of_rank(step, processes.row_group, processes.row_groups)
        sums_N3[own] = sums_B3[: len(own)]
    everyone = processes.sum(sums_N3.reshape(-1).tolist())
    return by_question(rows.questions, np.array(everyone).reshape(sums_N3.shape))


def by_question(questions: tuple[Question, ...], sums_N3: NDArray[np.float64]) -> list[WeighedQuestion]:
    """Give each question its rows.

    Args:
        questions: in the order of their rows.
        sums_N3: [N, 3], float64: loss, targets and bytes of text of each row.
    """
    ends = np.cumsum([question.answers for question in questions])
    return [
        WeighedQuestion(question.subject, question.right, *sums_A3.T)
        for question, sums_A3 in zip(questions, np.split(sums_N3, ends[:-1]), strict=True)
    ]
