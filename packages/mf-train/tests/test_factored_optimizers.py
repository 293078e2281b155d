"""The optimizers that keep more than tensors like their parameters, against their formulas in float64."""

from collections.abc import Iterator
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Parameter, Tensor

from mf_models.kernels import select_kernels
from mf_train.optimizers.adafactor import AdaFactor
from mf_train.optimizers.adagrad import Adagrad
from mf_train.optimizers.came import Came
from mf_train.optimizers.fused_cast_adam_weight_decay import FusedCastAdamWeightDecay
from mf_train.optimizers.pma_adamw import PmaAdamW
from mf_train.step.update import ParameterUpdate

pytestmark = pytest.mark.usefixtures("graph_mode")

RATE, DECAY = 0.02, 0.3
SHAPES = {"matrix": (3, 4), "norm": (4,), "experts": (2, 2, 3)}
FIRST = {name: np.random.default_rng(len(name)).normal(size=shape) for name, shape in SHAPES.items()}
SIZES = (1.0, 5.0, 0.1, 0.1, 1.0, 0.5)

Values = dict[str, np.ndarray]


def gradients() -> Iterator[Values]:
    generator = np.random.default_rng(5)
    for size in SIZES:
        yield {name: size * generator.normal(size=shape) for name, shape in SHAPES.items()}


def trained(section: Any) -> ParameterUpdate:
    """The optimizer after one update for each of the gradients."""
    parameters = [Parameter(Tensor(value.astype(np.float32)), name=name) for name, value in FIRST.items()]
    update = ParameterUpdate(parameters, section.rule(select_kernels()), section.weight_decay)
    for number, gradient in enumerate(gradients(), start=1):
        tensors = ms.mutable(tuple(Tensor(value.astype(np.float32)) for value in gradient.values()))
        update(tensors, Tensor(float(number), ms.float32), Tensor(RATE, ms.float32))
    return update


def rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(x**2)))


def second_moment(kept: dict[str, Any], name: str, squares: np.ndarray, decay: float) -> np.ndarray:
    """What rows and columns stand for, in the words of the paper: R C / (1' R), with means in place of sums."""
    if squares.ndim < 2:
        kept[name] = decay * kept.get(name, 0.0) + (1 - decay) * squares
        return kept[name]
    rows = kept[f"{name}_row"] = decay * kept.get(f"{name}_row", 0.0) + (1 - decay) * squares.mean(axis=-1)
    columns = kept[f"{name}_col"] = decay * kept.get(f"{name}_col", 0.0) + (1 - decay) * squares.mean(axis=-2)
    return rows[..., :, None] * columns[..., None, :] / rows.mean(axis=-1)[..., None, None]


def adafactor(value: np.ndarray, gradient: np.ndarray, number: int, kept: dict[str, Any], section: AdaFactor):
    """Source: Shazeer and Stern 2018, algorithms 4 to 6, with a first moment as nn.AdaFactor has it."""
    rate = RATE * max(section.eps[1], rms(value)) if section.scale_parameter else RATE
    decay = 1 - number ** (-section.decay_rate)
    change = gradient / np.sqrt(second_moment(kept, "exp_avg_sq", gradient**2 + section.eps[0], decay))
    change = rate * change / max(1.0, rms(change) / section.clip_threshold)
    if section.beta1:
        change = kept["exp_avg"] = section.beta1 * kept.get("exp_avg", 0.0) + (1 - section.beta1) * change
    return value - rate * (DECAY if value.ndim > 1 else 0.0) * value - change


def came(value: np.ndarray, gradient: np.ndarray, number: int, kept: dict[str, Any], section: Came):
    """Source: Luo et al. 2023, algorithm 2, with the decay of MindFormers."""
    rate = RATE * max(section.eps[1], rms(value)) if section.scale_parameter else RATE
    decay = 1 - number ** (-section.decay_rate)
    change = gradient / np.sqrt(second_moment(kept, "exp_avg_sq", gradient**2 + section.eps[0], decay))
    change = change / max(1.0, rms(change) / section.clip_threshold)
    assert section.beta1
    mean = kept["exp_avg"] = section.beta1 * kept.get("exp_avg", 0.0) + (1 - section.beta1) * change
    if value.ndim > 1:
        mean = mean / np.sqrt(
            second_moment(kept, "exp_avg_insta", (change - mean) ** 2 + section.eps[2], section.beta3)
        )
    return value - rate * (DECAY if value.ndim > 1 else 0.0) * value - rate * mean


def adagrad(value: np.ndarray, gradient: np.ndarray, _: int, kept: dict[str, Any], section: Adagrad):
    """Source: Duchi et al. 2011, with the decay as a part of the gradient."""
    gradient = gradient + (DECAY if value.ndim > 1 else 0.0) * value
    sums = kept.get("accum", np.full_like(value, section.accum)) + (gradient**2 if section.update_slots else 0.0)
    kept["accum"] = sums
    return value - RATE * gradient / np.sqrt(sums)


FORMULAS = {
    "adafactor": (AdaFactor(weight_decay=DECAY), adafactor),
    "adafactor alone": (
        AdaFactor(weight_decay=DECAY, beta1=None, scale_parameter=False, clip_threshold=0.5),
        adafactor,
    ),
    "came": (Came(weight_decay=DECAY), came),
    "came, scaled": (Came(weight_decay=DECAY, beta1=0.7, beta3=0.5, scale_parameter=True, decay_rate=0.5), came),
    "adagrad": (Adagrad(weight_decay=DECAY), adagrad),
    "adagrad, fixed": (Adagrad(weight_decay=DECAY, accum=0.2, update_slots=False), adagrad),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_updates_follow_the_formula_in_float64(name: str):
    section, formula = FORMULAS[name]
    update = trained(section)
    for parameter in update.parameters:
        value, kept = FIRST[parameter.name], {}
        for number, gradient in enumerate(gradients(), start=1):
            value = formula(value, gradient[parameter.name], number, kept, section)
        np.testing.assert_allclose(parameter.asnumpy(), value, rtol=3e-5, atol=3e-6, err_msg=parameter.name)
        found = {slot: held[parameter.name] for slot, held in update.slots.items() if parameter.name in held}
        assert set(found) == set(kept)
        for slot, wanted in kept.items():
            np.testing.assert_allclose(found[slot].asnumpy(), wanted, rtol=3e-5, atol=3e-6, err_msg=slot)


def adamw(value: np.ndarray, gradient: np.ndarray, number: int, moments: list[Any]) -> np.ndarray:
    moments[:] = [0.9 * moments[0] + 0.1 * gradient, 0.999 * moments[1] + 0.001 * gradient**2]
    root = np.sqrt(moments[1] / (1 - 0.999**number)) + 1e-8
    return value * (1 - RATE * (DECAY if value.ndim > 1 else 0.0)) - RATE * moments[0] / (1 - 0.9**number) / root


@pytest.mark.parametrize("algorithm", ["ema", "sma"])
def test_weights_are_replaced_by_the_average_of_their_copies(algorithm: str):
    """Copies after updates 2, 4 and 6; two make an average, so the third begins the next one."""
    section = PmaAdamW(weight_decay=DECAY, fused_num=2, interleave_step=2, fused_algo=algorithm, ema_alpha=0.3)
    update = trained(section)
    for parameter in update.parameters:
        value, moments, copies = FIRST[parameter.name], [0.0, 0.0], []
        for number, gradient in enumerate(gradients(), start=1):
            value = adamw(value, gradient[parameter.name], number, moments)
            if number % 2 == 0:
                copies.append(value)
            if number == 4:
                value = 0.7 * copies[0] + 0.3 * copies[1] if algorithm == "ema" else (copies[0] + copies[1]) / 2
        np.testing.assert_allclose(parameter.asnumpy(), value, rtol=3e-5, atol=1e-6)
        begun = copies[2] if algorithm == "ema" else copies[2] / 2
        np.testing.assert_allclose(update.slots["pma_weight"][parameter.name].asnumpy(), begun, rtol=3e-5, atol=1e-6)


def test_adagrad_leaves_a_weight_without_gradients():
    parameter = Parameter(Tensor(np.array([2.0, 3.0], np.float32)), name="p")
    section = Adagrad(accum=0.0)
    update = ParameterUpdate([parameter], section.rule(select_kernels()), 0.0)
    update(ms.mutable((Tensor(np.array([0.0, 4.0], np.float32)),)), Tensor(1.0, ms.float32), Tensor(0.5, ms.float32))
    np.testing.assert_allclose(parameter.asnumpy(), [2.0, 2.5])


def test_a_clipping_optimizer_says_its_norm():
    assert FusedCastAdamWeightDecay(clip_norm=0.25).rule(select_kernels()).max_grad_norm == 0.25
    assert Adagrad().rule(select_kernels()).max_grad_norm is None


def test_rates_that_follow_from_the_number_of_updates():
    assert [AdaFactor().rate(update, 0) for update in (0, 9_999, 39_999)] == [0.01, 0.01, 0.005]
    warm = AdaFactor(warmup_init=True)
    assert [warm.rate(update, 0) for update in (0, 99)] == pytest.approx([1e-6, 1e-4])
    assert AdaFactor(learning_rate=0.3).rate(5, 0) == 0.3
