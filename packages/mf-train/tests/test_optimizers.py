"""The optimizers over several parameters in graph mode, against MindSpore's own classes and measured values."""

from collections.abc import Callable
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Parameter, ParameterTuple, Tensor, nn

from mf_models.kernels import select_kernels
from mf_train.optimizers.adam import Adam
from mf_train.optimizers.adam_weight_decay import AdamWeightDecay
from mf_train.optimizers.adam_weight_decay_x import AdamWeightDecayX
from mf_train.optimizers.adamw import AdamW
from mf_train.optimizers.fp32_state_adam_weight_decay import FP32StateAdamWeightDecay
from mf_train.optimizers.fused_adam_weight_decay import FusedAdamWeightDecay
from mf_train.optimizers.momentum import Momentum
from mf_train.optimizers.sgd import SGD
from mf_train.step.update import ParameterUpdate

pytestmark = pytest.mark.usefixtures("graph_mode")

RATE, DECAY = 0.02, 0.3
ADAM = {"beta1": 0.8, "beta2": 0.99, "eps": 1e-3, "weight_decay": DECAY}
SHAPES = {"matrix": (3, 4), "norm": (4,), "experts": (2, 2, 3)}

Gradients = list[dict[str, np.ndarray]]
Values = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def gradients() -> Gradients:
    """Of six updates; a second moment that falls afterwards tells AMSGrad from Adam."""
    generator = np.random.default_rng(5)
    sizes = (1.0, 5.0, 0.1, 0.1, 1.0, 0.5)
    return [{name: size * generator.normal(size=shape) for name, shape in SHAPES.items()} for size in sizes]


def first_values() -> Values:
    generator = np.random.default_rng(6)
    return {name: generator.normal(size=shape) for name, shape in SHAPES.items()}


def parameters_of(values: Values) -> ParameterTuple:
    return ParameterTuple([Parameter(Tensor(value.astype(np.float32)), name=name) for name, value in values.items()])


def tensors_of(gradient: Values) -> tuple[Tensor, ...]:
    return ms.mutable(tuple(Tensor(value.astype(np.float32)) for value in gradient.values()))


def trained(section: Any, gradients: Gradients, rate: float = RATE, values: Values | None = None) -> ParameterUpdate:
    """The optimizer after one update for each of the gradients."""
    update = ParameterUpdate(
        list(parameters_of(values or first_values())), section.rule(select_kernels()), section.weight_decay
    )
    for number, gradient in enumerate(gradients, start=1):
        update(tensors_of(gradient), Tensor(float(number), ms.float32), Tensor(rate, ms.float32))
    return update


def slots_of(update: ParameterUpdate) -> list[list[Parameter]]:
    return [list(tensors.values()) for tensors in update.slots.values()]


def by_mindspore(make: Callable[[list[dict[str, Any]]], nn.Optimizer], gradients: Gradients) -> ParameterTuple:
    """What MindSpore's own class makes of the same gradients."""
    parameters = parameters_of(first_values())
    groups = [
        {"params": [parameter for parameter in parameters if (parameter.ndim > 1) == decayed], "weight_decay": decay}
        for decayed, decay in ((True, DECAY), (False, 0.0))
    ]
    optimizer = make([*groups, {"order_params": list(parameters)}])
    for gradient in gradients:
        optimizer(tensors_of(gradient))
    return parameters


ADAM_NAMES = {"beta1": 0.8, "beta2": 0.99, "eps": 1e-3}
MINDSPORE = {
    "AdamWeightDecay": (
        AdamWeightDecay(**ADAM),
        lambda groups: nn.AdamWeightDecay(groups, RATE, **ADAM_NAMES),
    ),
    "Adam": (Adam(**ADAM), lambda groups: nn.Adam(groups, RATE, **ADAM_NAMES)),
    "Adam, Nesterov": (
        Adam(**ADAM, use_nesterov=True),
        lambda groups: nn.Adam(groups, RATE, **ADAM_NAMES, use_nesterov=True),
    ),
    "Adam, AMSGrad": (
        Adam(**ADAM, use_amsgrad=True),
        lambda groups: nn.Adam(groups, RATE, **ADAM_NAMES, use_amsgrad=True),
    ),
    "SGD": (SGD(weight_decay=DECAY), lambda groups: nn.SGD(groups, RATE)),
    "SGD, momentum": (
        SGD(weight_decay=DECAY, momentum=0.9, dampening=0.4),
        lambda groups: nn.SGD(groups, RATE, momentum=0.9, dampening=0.4),
    ),
    "SGD, Nesterov": (
        SGD(weight_decay=DECAY, momentum=0.9, nesterov=True),
        lambda groups: nn.SGD(groups, RATE, momentum=0.9, nesterov=True),
    ),
    "Momentum": (
        Momentum(momentum=0.9, weight_decay=DECAY),
        lambda groups: nn.Momentum(groups, RATE, momentum=0.9),
    ),
    # The documented formula: nn.Momentum of MindSpore 2.10 ignores use_nesterov on the CPU.
    "Momentum, Nesterov": (
        Momentum(momentum=0.9, weight_decay=DECAY, use_nesterov=True),
        lambda groups: nn.SGD(groups, RATE, momentum=0.9, nesterov=True),
    ),
}


@pytest.mark.golden
@pytest.mark.parametrize("name", MINDSPORE)
def test_updates_are_those_of_mindspore(name: str, gradients: Gradients):
    section, make = MINDSPORE[name]
    wanted = by_mindspore(make, gradients)
    for found, expected in zip(trained(section, gradients).parameters, wanted, strict=True):
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=5e-6, atol=2e-6, err_msg=found.name)


@pytest.mark.golden
@pytest.mark.parametrize("kind", [FP32StateAdamWeightDecay, AdamWeightDecay, FusedAdamWeightDecay])
def test_values_measured_on_mindformers(kind: type):
    section = kind(beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.1)
    gradient = {"p": np.array([[0.5, -0.25]])}
    update = trained(section, [gradient] * 3, 0.1, {"p": np.array([[1.0, -2.0]])})
    np.testing.assert_allclose(update.parameters[0].asnumpy()[0], [0.794469, -1.764768], rtol=1e-6)


def test_rate_corrected_adam_follows_the_formula_in_float64(gradients: Gradients):
    """Source: MindFormers 1.3, research/qwen/optim.py, with the decay kept from norms."""
    update = trained(AdamWeightDecayX(**ADAM), gradients)
    for index, (name, value) in enumerate(first_values().items()):
        first, second, decay = np.zeros_like(value), np.zeros_like(value), DECAY if value.ndim > 1 else 0.0
        for number, gradient in enumerate((gradient[name] for gradient in gradients), start=1):
            first = 0.8 * first + 0.2 * gradient
            second = 0.99 * second + 0.01 * gradient**2
            rate = RATE * np.sqrt(1 - 0.99**number) / (1 - 0.8**number)
            value = value * (1 - RATE * decay) - rate * first / (np.sqrt(second) + 1e-3)
        for found, wanted in zip((update.parameters, *slots_of(update)), (value, first, second), strict=True):
            np.testing.assert_allclose(found[index].asnumpy(), wanted, rtol=2e-5, atol=1e-6, err_msg=name)


def test_epsilon_weighs_otherwise_where_it_is_not_corrected(gradients: Gradients):
    one = trained(AdamWeightDecayX(**ADAM), gradients[:1]).parameters[0].asnumpy()
    other = trained(AdamW(betas=(0.8, 0.99), eps=1e-3, weight_decay=DECAY), gradients[:1]).parameters[0].asnumpy()
    assert 1e-5 < np.abs(one - other).max() < RATE


@pytest.mark.parametrize(
    ("section", "slots"),
    [
        (FP32StateAdamWeightDecay(), ["adam_m.w", "adam_v.w"]),
        (Adam(), ["moment1.w", "moment2.w"]),
        (Adam(use_amsgrad=True), ["moment1.w", "moment2.w", "vhat.w"]),
        (SGD(), []),
        (SGD(momentum=0.5), ["accum.w"]),
        (Momentum(momentum=0.5), ["moments.w"]),
    ],
)
def test_slots_are_named_after_their_parameter(section: Any, slots: list[str]):
    update = ParameterUpdate(list(parameters_of({"w": np.ones((2, 2))})), section.rule(select_kernels()), 0.0)
    assert [tensor.name for tensors in slots_of(update) for tensor in tensors] == slots
