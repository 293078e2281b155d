"""The kernels of optimizers over several updates against float64 formulas."""

from collections.abc import Callable, Iterator
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Parameter, Tensor, nn, ops
from mindspore import ParameterTuple as Parameters

from mf_models.kernels import select_kernels

KERNELS = select_kernels()
BETAS, EPSILON, DECAY, STEPS = (0.9, 0.99), 1e-3, 0.1, 5

Rate = Callable[[int, float], float]


class Updates(nn.Cell):
    """Updates of one parameter with slots that begin as zeros."""

    def __init__(self, start: np.ndarray, slots: int, rates: Callable[..., Any], update: Callable[..., Any]):
        super().__init__()
        self.parameter = Parameter(Tensor(start.astype(np.float32)), name="p")
        zeros = np.zeros(start.shape, np.float32)
        self.slots = Parameters([Parameter(Tensor(zeros), name=f"slot{i}") for i in range(slots)])
        self.kernel_rates, self.kernel_update = rates, update

    def construct(self, step: Tensor, learning_rate: Tensor, gradient: Tensor) -> Tensor:
        slots = ()
        for slot in self.slots:
            slots = (*slots, slot)
        done = self.kernel_update(self.parameter, slots, gradient, self.kernel_rates(step, learning_rate))
        return ops.depend(step, done)


def normals(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def steps() -> Iterator[tuple[int, float, np.ndarray]]:
    """Number, rate and gradient of each update; the largest gradient comes second."""
    for number, size in zip(range(1, STEPS + 1), (1.0, 9.0, 0.1, 2.0, 0.5), strict=True):
        yield number, 0.1 / number, normals(3, 5) * size + number


def check(cell: Updates, formula: Callable[[np.ndarray, list[np.ndarray], int, float, np.ndarray], np.ndarray]) -> None:
    """Run both; the formula changes its slots in place and returns the parameter."""
    value = cell.parameter.asnumpy().astype(np.float64)
    slots = [np.zeros_like(value) for _ in cell.slots]
    for number, rate, gradient in steps():
        cell(Tensor(float(number), ms.float32), Tensor(rate, ms.float32), Tensor(gradient.astype(np.float32)))
        value = formula(value, slots, number, rate, gradient)
        np.testing.assert_allclose(cell.parameter.asnumpy(), value, 1e-5, 2e-6)
        for found, wanted in zip(cell.slots, slots, strict=True):
            np.testing.assert_allclose(found.asnumpy(), wanted, 1e-5, 2e-6)


def corrected(number: int, rate: float) -> float:
    return rate * np.sqrt(1 - BETAS[1] ** number) / (1 - BETAS[0] ** number)


def as_written(number: int, rate: float) -> float:
    return rate


@pytest.mark.parametrize(
    ("kernel_rates", "rate_of"),
    [(KERNELS.adamw_rates_uncorrected, as_written), (KERNELS.adamw_rates_raw_epsilon, corrected)],
)
def test_moments_with_a_raw_epsilon_and_decoupled_decay(kernel_rates: Callable[..., Any], rate_of: Rate) -> None:
    def rates(step: Tensor, learning_rate: Tensor) -> Any:
        return kernel_rates(step, learning_rate, BETAS, EPSILON)

    def update(parameter: Tensor, slots: Any, gradient: Tensor, rates: Any) -> Tensor:
        return KERNELS.adamw_update(parameter, slots, gradient, rates, BETAS, DECAY)

    def formula(p: np.ndarray, slots: list[np.ndarray], number: int, rate: float, g: np.ndarray) -> np.ndarray:
        slots[0] += (1 - BETAS[0]) * (g - slots[0])
        slots[1] += (1 - BETAS[1]) * (g * g - slots[1])
        return p - rate_of(number, rate) * slots[0] / (np.sqrt(slots[1]) + EPSILON) - rate * DECAY * p

    check(Updates(normals(3, 5), 2, rates, update), formula)


@pytest.mark.parametrize(("slots", "nesterov"), [(2, False), (2, True), (3, False)])
def test_adam_with_the_decay_in_the_gradient(slots: int, nesterov: bool) -> None:
    def rates(step: Tensor, learning_rate: Tensor) -> Any:
        return KERNELS.adamw_rates_raw_epsilon(step, learning_rate, BETAS, EPSILON)

    def update(parameter: Tensor, slots: Any, gradient: Tensor, rates: Any) -> Tensor:
        return KERNELS.adam_update(parameter, slots, gradient, rates, BETAS, DECAY, nesterov)

    def formula(p: np.ndarray, slots: list[np.ndarray], number: int, rate: float, g: np.ndarray) -> np.ndarray:
        g = g + DECAY * p
        slots[0] += (1 - BETAS[0]) * (g - slots[0])
        slots[1] += (1 - BETAS[1]) * (g * g - slots[1])
        if len(slots) == 3:
            np.maximum(slots[2], slots[1], out=slots[2])
        ahead = BETAS[0] * slots[0] + (1 - BETAS[0]) * g if nesterov else slots[0]
        return p - corrected(number, rate) * ahead / (np.sqrt(slots[-1]) + EPSILON)

    check(Updates(normals(3, 5), slots, rates, update), formula)


@pytest.mark.parametrize(
    ("slots", "dampening", "nesterov"), [(0, 0.0, False), (1, 0.0, False), (1, 0.4, False), (1, 0.0, True)]
)
def test_momentum(slots: int, dampening: float, nesterov: bool) -> None:
    momentum = 0.8

    def rates(step: Tensor, learning_rate: Tensor) -> Any:
        return KERNELS.momentum_rates(step, learning_rate, dampening)

    def update(parameter: Tensor, slots: Any, gradient: Tensor, rates: Any) -> Tensor:
        return KERNELS.momentum_update(parameter, slots, gradient, rates, momentum, DECAY, nesterov)

    def formula(p: np.ndarray, slots: list[np.ndarray], number: int, rate: float, g: np.ndarray) -> np.ndarray:
        g = g + DECAY * p
        if not slots:
            return p - rate * g
        slots[0] *= momentum
        slots[0] += g if number == 1 else (1 - dampening) * g
        return p - rate * (g + momentum * slots[0] if nesterov else slots[0])

    check(Updates(normals(3, 5), slots, rates, update), formula)
