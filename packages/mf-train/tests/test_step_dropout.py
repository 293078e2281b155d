"""Dropout in the training step: what a row loses depends on seed, update and row, not on how the rows are spread."""

from collections.abc import Callable
from dataclasses import replace

import mindspore as ms
import numpy as np
import pytest

import mf_models
from mf_models.families.gpt2 import GPT2Config
from mf_models.initializers import initialize
from mf_models.kernels import select_kernels
from mf_parallel.collectives import Communicator
from mf_parallel.gradients import TokenSums
from mf_train.evaluation.evaluator import EvaluationData, Evaluator
from mf_train.optimizers.adamw import AdamW
from mf_train.step.graphs import Reduction
from mf_train.step.training_step import StepRules, TrainingStep
from mf_train.step.update import ParameterUpdate
from mf_train.task import Examples
from mf_train.tasks.causal_lm import CausalLanguageModelingTrainer

pytestmark = pytest.mark.usefixtures("graph_mode")

TASK = CausalLanguageModelingTrainer()
ROWS = TASK.examples({"input_ids": np.random.default_rng(0).integers(1, 24, (4, 7)).astype(np.int32)}, -100)
OBJECTIVE = TASK.objective(select_kernels())
KEPT: list[TrainingStep] = []
"""MindSpore 2.10 mistakes a new function for a freed one at the same address: nothing that was compiled is freed."""


@pytest.fixture(scope="module")
def model() -> ms.nn.Cell:
    """A GPT-2 with its published dropout."""
    config = GPT2Config(
        hidden_size=16, num_layers=1, num_heads=2, vocab_size=24, seq_length=8, bos_token_id=0, eos_token_id=0,
        pad_token_id=0,
    )  # fmt: skip
    cell = mf_models.build(config)
    initialize(cell, seed=0)
    return cell


def step_of(model: ms.nn.Cell, **rules: int) -> Callable[[Examples, int], float]:
    """A newly built step, as a resumed run has it: the loss of one update that changes nothing."""
    kernels = select_kernels()
    update = ParameterUpdate(list(model.trainable_params()), AdamW(weight_decay=0.0).rule(kernels), 0.0)
    mean = TokenSums([each.shape for each in update.parameters], Communicator(0, range(1)))
    reduction = Reduction(mean, kernels.global_norm)
    step = TrainingStep(model, OBJECTIVE, update, reduction, StepRules(seed=5, **rules))
    KEPT.append(step)
    return lambda examples, number: step(examples, scale=1.0, number=number, learning_rate=0.0).loss


@pytest.fixture(scope="module")
def loss(model: ms.nn.Cell) -> Callable[[Examples, int], float]:
    return step_of(model)


def test_an_update_drops_the_same_whenever_and_in_whatever_parts_it_is_done(model: ms.nn.Cell, loss: Callable):
    third = loss(ROWS, 3)
    assert loss(ROWS, 4) != third
    assert loss(ROWS, 3) == third
    assert step_of(model, micro_batches=2)(ROWS, 3) == pytest.approx(third, rel=1e-6)


def test_the_second_rank_drops_what_its_rows_lose_in_one_batch(model: ms.nn.Cell, loss: Callable):
    second = ROWS.split(2)[1]
    alone = replace(ROWS, weights_BT=np.concatenate((np.zeros((2, 6), np.float32), second.weights_BT)))
    assert step_of(model, data_rank=1)(second, 3) == pytest.approx(loss(alone, 3), rel=1e-6)


def test_evaluation_is_no_training_and_training_goes_on():
    cell, modes = ms.nn.Cell(), []

    def losses(*columns: ms.Tensor | None) -> None:
        modes.append(cell.training)

    evaluator = Evaluator(cell, losses, EvaluationData(lambda: [ROWS], np.ones(24, np.int64)))
    for training in (True, False):
        cell.set_train(training)
        evaluator.sums(lambda values: values)
        assert cell.training is training
    assert modes == [False, False]
