"""Adam and gradient descent in all their forms, with their state, against their formulas in float64."""

from collections.abc import Callable, Iterator
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Parameter, Tensor

from mf_models.kernels import select_kernels
from mf_train.optimizers.adam import Adam
from mf_train.optimizers.adam_weight_decay import AdamWeightDecay
from mf_train.optimizers.fp32_state_adam_weight_decay import FP32StateAdamWeightDecay
from mf_train.optimizers.fused_adam_weight_decay import FusedAdamWeightDecay
from mf_train.optimizers.fused_cast_adam_weight_decay import FusedCastAdamWeightDecay
from mf_train.optimizers.momentum import Momentum
from mf_train.optimizers.sgd import SGD
from mf_train.step.update import ParameterUpdate

pytestmark = pytest.mark.usefixtures("graph_mode")

RATES = (0.0, 0.02, 0.05, 0.03, 0.01, 0.005)
"""Of six updates, as a warm-up has them."""

DECAY = 0.3
SHAPES = {"matrix": (3, 4), "norm": (4,), "experts": (2, 2, 3)}
FIRST = {name: np.random.default_rng(len(name)).normal(size=shape) for name, shape in SHAPES.items()}

Values = dict[str, np.ndarray]
State = dict[str, Any]
Formula = Callable[[np.ndarray, np.ndarray, int, State], np.ndarray]
"""From a weight, its gradient, the number of the update and what is kept, to the new weight."""


def gradients() -> Iterator[Values]:
    """A second moment that falls after the second update tells AMSGrad from Adam."""
    generator = np.random.default_rng(5)
    for size in (1.0, 5.0, 0.1, 0.1, 1.0, 0.5):
        yield {name: size * generator.normal(size=shape) for name, shape in SHAPES.items()}


def decay_of(value: np.ndarray) -> float:
    """Vectors are norms and biases, which are not decayed."""
    return DECAY if value.ndim > 1 else 0.0


def uncorrected(value: np.ndarray, gradient: np.ndarray, number: int, kept: State) -> np.ndarray:
    """MindFormers' reference: u = m / (sqrt(v) + eps) + wd p, p -= lr u; moments as they are."""
    first = kept["adam_m"] = 0.8 * kept.get("adam_m", 0.0) + 0.2 * gradient
    second = kept["adam_v"] = 0.99 * kept.get("adam_v", 0.0) + 0.01 * gradient**2
    return value - RATES[number - 1] * (first / (np.sqrt(second) + 1e-3) + decay_of(value) * value)


def adam(*, nesterov: bool = False, largest: bool = False) -> Formula:
    """Kingma and Ba 2015, end of section 2; the decay is a part of the gradient.

    Nesterov's form takes one more step of the moment, as mindspore.nn.Adam; AMSGrad: Reddi et al. 2018, algorithm 2.
    """

    def formula(value: np.ndarray, gradient: np.ndarray, number: int, kept: State) -> np.ndarray:
        gradient = gradient + decay_of(value) * value
        first = kept["moment1"] = 0.8 * kept.get("moment1", 0.0) + 0.2 * gradient
        below = kept["moment2"] = 0.99 * kept.get("moment2", 0.0) + 0.01 * gradient**2
        if largest:
            below = kept["vhat"] = np.maximum(kept.get("vhat", 0.0), below)
        direction = 0.8 * first + 0.2 * gradient if nesterov else first
        rate = RATES[number - 1] * np.sqrt(1 - 0.99**number) / (1 - 0.8**number)
        return value - rate * direction / (np.sqrt(below) + 1e-3)

    return formula


def descent(slot: str, *, momentum: float = 0.0, dampening: float = 0.0, nesterov: bool = False) -> Formula:
    """Sutskever et al. 2013 in the form of torch.optim.SGD: the first gradient is taken whole."""

    def formula(value: np.ndarray, gradient: np.ndarray, number: int, kept: State) -> np.ndarray:
        change = gradient = gradient + decay_of(value) * value
        if momentum:
            share = 1.0 if number == 1 else 1 - dampening
            change = kept[slot] = momentum * kept.get(slot, 0.0) + share * gradient
        if nesterov:
            change = gradient + momentum * change
        return value - RATES[number - 1] * change

    return formula


ADAM = {"beta1": 0.8, "beta2": 0.99, "eps": 1e-3, "weight_decay": DECAY}
FORMULAS: dict[str, tuple[Any, Formula]] = {
    "FP32StateAdamWeightDecay": (FP32StateAdamWeightDecay(**ADAM), uncorrected),
    "FusedAdamWeightDecay": (FusedAdamWeightDecay(**ADAM), uncorrected),
    "AdamWeightDecay": (AdamWeightDecay(**ADAM), uncorrected),
    # What it clips is clipped before, with the gradients of the whole step.
    "FusedCastAdamWeightDecay": (FusedCastAdamWeightDecay(**ADAM), uncorrected),
    "Adam": (Adam(**ADAM), adam()),
    "Adam, Nesterov": (Adam(**ADAM, use_nesterov=True), adam(nesterov=True)),
    "Adam, AMSGrad": (Adam(**ADAM, use_amsgrad=True), adam(largest=True)),
    "SGD": (SGD(weight_decay=DECAY), descent("accum")),
    "SGD, momentum": (
        SGD(weight_decay=DECAY, momentum=0.9, dampening=0.4),
        descent("accum", momentum=0.9, dampening=0.4),
    ),
    "SGD, Nesterov": (
        SGD(weight_decay=DECAY, momentum=0.9, nesterov=True),
        descent("accum", momentum=0.9, nesterov=True),
    ),
    "Momentum": (Momentum(momentum=0.9, weight_decay=DECAY), descent("moments", momentum=0.9)),
    "Momentum, Nesterov": (
        Momentum(momentum=0.9, weight_decay=DECAY, use_nesterov=True),
        descent("moments", momentum=0.9, nesterov=True),
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_updates_and_state_follow_the_formula_in_float64(name: str):
    section, formula = FORMULAS[name]
    parameters = [Parameter(Tensor(value.astype(np.float32)), name=name) for name, value in FIRST.items()]
    update = ParameterUpdate(parameters, section.rule(select_kernels()), section.weight_decay)
    for number, gradient in enumerate(gradients(), start=1):
        tensors = ms.mutable(tuple(Tensor(value.astype(np.float32)) for value in gradient.values()))
        update(tensors, Tensor(float(number), ms.float32), Tensor(RATES[number - 1], ms.float32))
    for parameter in update.parameters:
        value, kept = FIRST[parameter.name], {}
        for number, gradient in enumerate(gradients(), start=1):
            value = formula(value, gradient[parameter.name], number, kept)
        np.testing.assert_allclose(parameter.asnumpy(), value, rtol=2e-5, atol=2e-6, err_msg=parameter.name)
        found = {slot: held[parameter.name] for slot, held in update.slots.items() if parameter.name in held}
        assert set(found) == set(kept)
        for slot, wanted in kept.items():
            np.testing.assert_allclose(found[slot].asnumpy(), wanted, rtol=2e-5, atol=2e-6, err_msg=slot)
