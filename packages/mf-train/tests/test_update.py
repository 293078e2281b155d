"""AdamW over several parameters in graph mode, against float64 formulas and measured values."""

from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from mindspore import Parameter, Tensor

from mf_models.kernels import select_kernels
from mf_train.optimizers.adamw import AdamW
from mf_train.step.update import ParameterUpdate

pytestmark = pytest.mark.usefixtures("graph_mode")


def make(section: AdamW, values: dict[str, np.ndarray]) -> ParameterUpdate:
    parameters = [Parameter(Tensor(value.astype(np.float32)), name=name) for name, value in values.items()]
    return ParameterUpdate(parameters, section.rule(select_kernels()), section.weight_decay)


def step(update: ParameterUpdate, gradients: list[np.ndarray], number: int, rate: float) -> None:
    graph_gradients = tuple(ms.mutable(Tensor(gradient.astype(np.float32))) for gradient in gradients)
    update(ms.mutable(graph_gradients), Tensor(float(number), ms.float32), Tensor(rate, ms.float32))


def reference(values, gradients_of_steps, rates, section, decayed):
    """AdamW in float64. Source: Loshchilov and Hutter 2019, algorithm 2."""
    beta1, beta2 = section.betas
    result = [value.astype(np.float64) for value in values]
    first = [np.zeros_like(value) for value in result]
    second = [np.zeros_like(value) for value in result]
    for number, (gradients, rate) in enumerate(zip(gradients_of_steps, rates, strict=True), start=1):
        for i, gradient in enumerate(gradients):
            first[i] = beta1 * first[i] + (1 - beta1) * gradient
            second[i] = beta2 * second[i] + (1 - beta2) * gradient**2
            root = np.sqrt(second[i] / (1 - beta2**number)) + section.eps
            decay = section.weight_decay if decayed[i] else 0.0
            result[i] = result[i] * (1 - rate * decay) - rate * first[i] / (1 - beta1**number) / root
    return result, first, second


@pytest.mark.golden
def test_values_measured_on_mindformers():
    section = AdamW(betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    update = make(section, {"p": np.array([[1.0, -2.0]])})
    for number, expected in enumerate(([0.89, -1.88], [0.7811, -1.7612], [0.673289, -1.643588]), start=1):
        step(update, [np.array([[0.5, -0.25]])], number, 0.1)
        np.testing.assert_allclose(update.parameters[0].asnumpy()[0], expected, rtol=2e-6)


@pytest.mark.golden
def test_vectors_are_not_decayed(data: Path):
    given, wanted = np.load(data / "c16-in.npz"), np.load(data / "c16-out.npz")
    names = list(wanted)
    update = make(AdamW(betas=(0.9, 0.95), weight_decay=0.1), {name: given[f"p/{name}"] for name in names})
    for number in (1, 2, 3):
        step(update, [given[f"g{number - 1}/{name}"] for name in names], number, 0.01)
    for name, parameter in zip(names, update.parameters, strict=True):
        np.testing.assert_allclose(parameter.asnumpy(), wanted[name], atol=1e-6)


def test_many_updates_follow_the_formula_in_float64():
    generator = np.random.default_rng(5)
    shapes = [(3, 4), (4,), (2, 2, 3)]
    values = [generator.normal(size=shape).astype(np.float32) for shape in shapes]
    gradients = [[generator.normal(size=shape).astype(np.float32) for shape in shapes] for _ in range(12)]
    rates = [0.0, *np.linspace(0.02, 0.001, 11)]
    section = AdamW(betas=(0.8, 0.99), eps=1e-6, weight_decay=0.3)
    update = make(section, {f"p{i}": value for i, value in enumerate(values)})
    for number, (of_step, rate) in enumerate(zip(gradients, rates, strict=True), start=1):
        step(update, of_step, number, float(rate))
    expected = reference(values, gradients, rates, section, [len(shape) > 1 for shape in shapes])
    found = (update.parameters, *(list(slot.values()) for slot in update.slots.values()))
    for tensors, wanted in zip(found, expected, strict=True):
        for tensor, value in zip(tensors, wanted, strict=True):
            np.testing.assert_allclose(tensor.asnumpy(), value, rtol=2e-5, atol=1e-6)


def test_slots_are_named_after_their_parameter():
    update = make(AdamW(), {"layer.weight": np.ones((2, 2))})
    assert [tensor.name for slot in update.slots.values() for tensor in slot.values()] == [
        "adam_m.layer.weight",
        "adam_v.layer.weight",
    ]


@pytest.mark.parametrize("betas", [(0.9,), (0.9, 1.0), (-0.1, 0.9), (0.9, 0.9, 0.9)])
def test_impossible_betas_are_a_problem(betas):
    assert [problem[0] for problem in AdamW(betas=betas).problems()] == ["betas"]
