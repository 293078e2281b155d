"""The compiled training step: golden numbers, overflow, masks, clipping."""

import json
from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from mindspore import Parameter, Tensor, mint, nn, ops

import mf_models
from mf_models.kernels import select_kernels
from mf_models.weights import to_checkpoint_names
from mf_parallel.collectives import Communicator
from mf_parallel.gradients import TokenSums
from mf_train.optimizer import UpdateRule, slots_like_parameters
from mf_train.optimizers.adamw import AdamW
from mf_train.step.gradient_limits import GradientLimits
from mf_train.step.graphs import Reduction
from mf_train.step.training_step import Outcome, StepRules, TrainingStep
from mf_train.step.update import ParameterUpdate
from mf_train.task import Examples
from mf_train.tasks.causal_lm import CausalLanguageModelingTrainer

TASK = CausalLanguageModelingTrainer()
IGNORED = -100


pytestmark = pytest.mark.usefixtures("graph_mode")


def rows_of(path: Path) -> list[dict[str, list[int]]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def examples_of(rows: list[dict[str, list[int]]], width: int) -> Examples:
    """Rows filled up to `width` ids with masked padding."""
    columns = {
        name: np.array([row[name] + [filler] * (width - len(row[name])) for row in rows], np.int32)
        for name, filler in (("input_ids", 0), ("labels", IGNORED))
    }
    return TASK.examples(columns, IGNORED)


def snapshot(update: ParameterUpdate) -> list[np.ndarray]:
    return [
        tensor.asnumpy().copy()
        for tensors in (update.parameters, *(slot.values() for slot in update.slots.values()))
        for tensor in tensors
    ]


class Llama:
    """The golden model with its training step; clipping at 1."""

    def __init__(self, folder: Path):
        _, self.cell = mf_models.load(folder)
        kernels = select_kernels()
        section = AdamW(betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
        self.update = ParameterUpdate(list(self.cell.trainable_params()), section.rule(kernels), 0.1)
        self.first = snapshot(self.update)
        communicator = Communicator(0, range(1))

        def step_of(micro_batches: int) -> TrainingStep:
            rules = StepRules(GradientLimits(1.0), micro_batches)
            mean = TokenSums([each.shape for each in self.update.parameters], communicator)
            reduction = Reduction(mean, kernels.global_norm)
            return TrainingStep(self.cell, TASK.objective(kernels), self.update, reduction, rules)

        self.step = step_of(1)
        self.steps = {1: self.step, 2: step_of(2), 3: step_of(3)}

    def reset(self) -> "Llama":
        tensors = [
            tensor
            for tensors in (self.update.parameters, *(slot.values() for slot in self.update.slots.values()))
            for tensor in tensors
        ]
        for tensor, value in zip(tensors, self.first, strict=True):
            ops.assign(tensor, Tensor(value))
        return self


@pytest.fixture(scope="module")
def compiled(data: Path) -> Llama:
    return Llama(data / "llama_gqa")


@pytest.fixture
def llama(compiled: Llama) -> Llama:
    return compiled.reset()


@pytest.mark.golden
def test_six_updates_give_the_losses_and_norms_of_an_independent_run(llama: Llama, data: Path):
    wanted = json.loads((data / "c17-expected.json").read_text())
    rows = rows_of(data / "c17-tokens.jsonl")
    for step, rate in enumerate(wanted["lr"]):
        examples = examples_of(rows[2 * step : 2 * step + 2], 20)
        outcome = llama.step(examples, scale=1.0, number=step + 1, learning_rate=rate)
        assert outcome.loss == pytest.approx(wanted["loss"][step], rel=1e-4)
        assert outcome.grad_norm == pytest.approx(wanted["grad_norm"][step], rel=1e-4)
        assert outcome.applied
    final = np.load(data / "c17-final-logits.npz")
    logits = llama.cell(Tensor(final["input_ids"].astype(np.int32))).asnumpy()
    np.testing.assert_allclose(logits, final["logits"], atol=2e-3)


@pytest.mark.golden
def test_mean_counts_tokens_and_not_rows(llama: Llama, data: Path):
    wanted = json.loads((data / "c14-expected.json").read_text())["mixed"]
    examples = examples_of(rows_of(data / "c14-mixed.jsonl"), 20)
    outcome = llama.step(examples, scale=1.0, number=1, learning_rate=1e-3)
    assert outcome.tokens == 4
    assert outcome.loss == pytest.approx(wanted["loss"], rel=1e-5)
    assert outcome.grad_norm == pytest.approx(wanted["grad_norm"], rel=1e-5)


def test_loss_scale_changes_neither_loss_nor_norm(llama: Llama, data: Path):
    examples = examples_of(rows_of(data / "c17-tokens.jsonl")[:2], 20)
    plain = llama.step(examples, scale=1.0, number=1, learning_rate=0.0)
    scaled = llama.reset().step(examples, scale=65536.0, number=1, learning_rate=0.0)
    assert scaled.loss == plain.loss
    assert scaled.grad_norm == pytest.approx(plain.grad_norm, rel=1e-6)


def test_step_without_targets_changes_nothing(llama: Llama, data: Path):
    masked = rows_of(data / "c14-mixed.jsonl")[:1] * 2
    outcome = llama.step(examples_of(masked, 20), scale=1.0, number=1, learning_rate=1e-3)
    assert (outcome.loss, outcome.grad_norm, outcome.tokens) == (0.0, 0.0, 0)
    assert not outcome.overflow
    assert not outcome.applied
    for found, wanted in zip(snapshot(llama.update), llama.first, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_overflow_changes_nothing_and_the_next_step_does(llama: Llama, data: Path):
    examples = examples_of(rows_of(data / "c17-tokens.jsonl")[:2], 20)
    outcome = llama.step(examples, scale=3e38, number=1, learning_rate=1e-3)
    assert outcome.overflow
    assert not outcome.applied
    assert np.isfinite(outcome.loss)
    for found, wanted in zip(snapshot(llama.update), llama.first, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert llama.step(examples, scale=1.0, number=1, learning_rate=1e-3).applied
    assert not np.array_equal(snapshot(llama.update)[0], llama.first[0])


@pytest.mark.golden
def test_micro_batches_count_by_their_tokens(llama: Llama, data: Path):
    wanted = json.loads((data / "c13-expected.json").read_text())
    examples = examples_of(rows_of(data / "c13-microbatches.jsonl"), 20)
    outcome = llama.steps[3](examples, scale=1.0, number=1, learning_rate=1e-3)
    assert outcome.tokens == wanted["target_tokens"]
    assert outcome.loss == pytest.approx(wanted["loss"], rel=1e-5)
    assert outcome.grad_norm == pytest.approx(wanted["grad_norm"], rel=1e-4)


def test_a_micro_batch_without_targets_counts_nothing(llama: Llama, data: Path):
    examples = examples_of(rows_of(data / "c14-mixed.jsonl"), 20)
    wanted = json.loads((data / "c14-expected.json").read_text())["mixed"]
    outcome = llama.steps[2](examples, scale=1.0, number=1, learning_rate=1e-3)
    assert outcome.loss == pytest.approx(wanted["loss"], rel=1e-5)
    assert outcome.grad_norm == pytest.approx(wanted["grad_norm"], rel=1e-5)


def test_steps_of_micro_batches_are_those_of_whole_batches(llama: Llama, data: Path):
    """The second step overflows: nothing of it may reach the third one."""
    rows = rows_of(data / "c17-tokens.jsonl")
    numbers: dict[int, list[float]] = {}
    weights = {}
    for micro_batches in (1, 2):
        llama.reset()
        numbers[micro_batches] = []
        for step, scale in enumerate((1024.0, 3e38, 1024.0, 1.0)):
            examples = examples_of(rows[2 * step : 2 * step + 2], 20)
            outcome = llama.steps[micro_batches](examples, scale=scale, number=step + 1, learning_rate=1e-3)
            assert outcome.overflow == (step == 1)
            numbers[micro_batches] += [outcome.loss, *([] if outcome.overflow else [outcome.grad_norm])]
        weights[micro_batches] = [parameter.asnumpy() for parameter in llama.update.parameters]
    np.testing.assert_allclose(numbers[2], numbers[1], rtol=2e-5)
    for found, wanted in zip(weights[2], weights[1], strict=True):
        np.testing.assert_allclose(found, wanted, atol=2e-5)


class Linear(nn.Cell):
    """Its loss is the sum of parameter times constant, so each constant is the gradient of its parameter."""

    def __init__(self, gradients: dict[str, np.ndarray]):
        super().__init__()
        self.loss_names = ()
        values = {name: np.zeros_like(gradient) for name, gradient in gradients.items()}
        self.weights = ms.ParameterTuple([Parameter(Tensor(value), name=name) for name, value in values.items()])
        self.constants = tuple(Tensor(gradient) for gradient in gradients.values())

    def construct(self) -> Tensor:
        total = mint.zeros((1, 1))
        for weight, constant in zip(self.weights, self.constants):  # noqa: B905 - graph code knows no strict
            total = total + (weight * constant).sum()
        return total


def losses(model, input_ids_BT, labels_BT, document_starts_BT):
    return model(), ()


def shared_rate(update, learning_rate):
    return learning_rate


def keep_gradient(parameter, slots, gradient, rates, weight_decay):
    return ops.assign(parameter, gradient)


def clipped(gradients: dict[str, np.ndarray], *limits: float | None) -> tuple[Outcome, dict[str, np.ndarray]]:
    """What a step reports, and the gradients that reach the optimizer."""
    model = Linear(gradients)
    rule = UpdateRule(slots_like_parameters(), shared_rate, keep_gradient)
    update = ParameterUpdate(list(model.trainable_params()), rule, 0.0)
    mean = TokenSums([each.shape for each in update.parameters], Communicator(0, range(1)))
    reduction = Reduction(mean, select_kernels().global_norm)
    step = TrainingStep(model, losses, update, reduction, StepRules(GradientLimits(*limits)))
    one = np.zeros((1, 1), np.int32)
    outcome = step(Examples(one, one, np.ones((1, 1), np.float32)), scale=1.0, number=1, learning_rate=1.0)
    return outcome, {parameter.name: parameter.asnumpy() for parameter in update.parameters}


@pytest.mark.golden
@pytest.mark.parametrize(
    ("gradient", "limits", "wanted"),
    [
        ([3, 4], [1.0], [0.5999999, 0.7999998]),
        ([0.3, 0.4], [1.0], [0.3, 0.4]),
        ([3, 4], [None], [3, 4]),
        ([-3, 4], [1.0, 0.7], [-0.5999999, 0.7]),
        ([-3, 4], [None, 2.5], [-2.5, 2.5]),
    ],
)
def test_clipped_gradients(gradient, limits, wanted):
    outcome, found = clipped({"w": np.array(gradient, np.float32)}, *limits)
    assert outcome.grad_norm == pytest.approx(np.hypot(*gradient), rel=1e-6)
    np.testing.assert_allclose(found["w"], wanted, rtol=1.5e-7)


@pytest.mark.parametrize("spike", [5.0, 5.1])
def test_a_spike_changes_nothing(spike: float):
    outcome, found = clipped({"w": np.array([3, 4], np.float32)}, 1.0, None, spike)
    assert not outcome.overflow
    assert outcome.grad_norm == 5
    assert outcome.spike == (spike == 5) != outcome.applied
    assert found["w"].any() == outcome.applied


@pytest.mark.golden
def test_one_norm_over_all_tensors(data: Path):
    wanted = json.loads((data / "c15-expected.json").read_text())
    gradients = dict(np.load(data / "c15-grads.npz"))
    outcome, found = clipped(gradients, 1.0)
    assert outcome.grad_norm == pytest.approx(wanted["global_norm"], rel=1e-6)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(found[name], gradient * wanted["factor_max_norm_1"], rtol=1e-6)
    _, untouched = clipped(gradients, 100.0)
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(untouched[name], gradient)


class Weight(nn.Cell):
    """One number w: each token costs 3 w, and the network adds w^2 and w / 2 to the mean."""

    def __init__(self):
        super().__init__()
        self.loss_names = ("layers.0.balance", "layers.1.z")
        self.weight = Parameter(Tensor([5.0], ms.float32), name="w")


def costs(model, input_ids_BT, labels_BT, document_starts_BT):
    weight = model.weight
    return mint.ones_like(labels_BT).astype(ms.float32) * 3.0 * weight, (weight * weight, weight * 0.5)


def step_of_costs(micro_batches: int) -> tuple[TrainingStep, Parameter]:
    """A step of `costs` on batches of two rows, which puts the gradient in the weight's place."""
    model = Weight()
    rule = UpdateRule(slots_like_parameters(), shared_rate, keep_gradient)
    update = ParameterUpdate(list(model.trainable_params()), rule, 0.0)
    reduction = Reduction(TokenSums([(1,)], Communicator(0, range(1))), select_kernels().global_norm)
    return TrainingStep(model, costs, update, reduction, StepRules(micro_batches=micro_batches)), update.parameters[0]


IDS = np.zeros((2, 3), np.int32)
THREE_TOKENS = Examples(IDS, IDS, np.array([[1, 0, 1], [0, 0, 1]], np.float32))


@pytest.mark.parametrize("micro_batches", [1, 2])
def test_what_the_network_adds_counts_once_for_each_token(micro_batches: int):
    step, weight = step_of_costs(micro_batches)
    outcome = step(THREE_TOKENS, scale=4.0, number=1, learning_rate=1.0)
    assert outcome.loss == pytest.approx(15)
    assert outcome.added_losses == {"layers.0.balance": 25.0, "layers.1.z": 2.5}
    assert weight.asnumpy() == pytest.approx([3 + 2 * 5 + 0.5])


@pytest.mark.parametrize("micro_batches", [1, 2])
def test_a_loss_that_is_too_large_changes_nothing(micro_batches: int):
    """The loss is 15; what decides is the mean, not the sum of 45."""
    step, weight = step_of_costs(micro_batches)
    outcome = step(THREE_TOKENS, scale=4.0, number=1, learning_rate=1.0, largest_loss=15.0)
    assert (outcome.loss, outcome.loss_spike, outcome.applied) == (15.0, True, False)
    assert not outcome.overflow
    assert not outcome.spike
    assert weight.asnumpy() == [5]
    outcome = step(THREE_TOKENS, scale=4.0, number=1, learning_rate=1.0, largest_loss=15.1)
    assert (outcome.loss, outcome.loss_spike, outcome.applied) == (15.0, False, True)
    assert weight.asnumpy() == pytest.approx([3 + 2 * 5 + 0.5])


@pytest.mark.golden
def test_every_gradient_of_micro_batches_is_that_of_the_whole_batch(data: Path):
    """Case c13, parameter by parameter: an optimizer that keeps the gradients in place of the weights."""
    wanted = json.loads((data / "c13-expected.json").read_text())["per_parameter_grad_norm"]
    config, cell = mf_models.load(data / "llama_gqa")
    rule = UpdateRule(slots_like_parameters(), shared_rate, keep_gradient)
    update = ParameterUpdate(list(cell.trainable_params()), rule, 0.0)
    mean = TokenSums([each.shape for each in update.parameters], Communicator(0, range(1)))
    kernels = select_kernels()
    reduction, rules = Reduction(mean, kernels.global_norm), StepRules(micro_batches=3)
    step = TrainingStep(cell, TASK.objective(kernels), update, reduction, rules)
    step(examples_of(rows_of(data / "c13-microbatches.jsonl"), 20), scale=1.0, number=1, learning_rate=1.0)
    found = {name: float(np.linalg.norm(gradient)) for name, gradient in to_checkpoint_names(config, cell)}
    assert found == pytest.approx(wanted, rel=1e-4)
