"""Experts against plain NumPy in float64, one token and one expert after another: results, losses and gradients.

Legend: N tokens, K experts of a token, E experts, D model dim.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

from mf_models.expert_choices import count_choices, counted_blocks, is_count
from mf_models.kernels.expert_linear import expert_block_rows, expert_blocks
from mf_models.layers.moe import expert_feed_forward, room
from mf_models.layers.moe_config import MoeConfig
from mf_models.networks import parameters

WIDTH, INNER = 6, 5
Weights = dict[str, np.ndarray]

CASES = {
    # So many tokens are faster in blocks of one expert each.
    "blocks": (MoeConfig(num_experts=8, chosen=2, expert_size=INNER), 512, False),
    "sigmoid": (
        MoeConfig(
            num_experts=8,
            chosen=3,
            expert_size=INNER,
            scores="sigmoid",
            corrected=True,
            groups=4,
            kept_groups=2,
            best_of_group=2,
            scale=2.5,
            shared_size=4,
            balance_factor=0.5,
        ),
        24,
        True,
    ),
    "groups": (
        MoeConfig(
            num_experts=8,
            chosen=2,
            expert_size=INNER,
            groups=4,
            kept_groups=2,
            normalized=False,
            scale=16.0,
            shared_size=4,
            shared_gate=True,
            capacity_factor=0.5,
            first_token_first=True,
            group_balance_factor=0.3,
            balance_groups=2,
            z_factor=0.01,
        ),
        24,
        True,
    ),
    "first choices": (
        MoeConfig(
            num_experts=4,
            chosen=2,
            expert_size=INNER,
            capacity_factor=0.6,
            balance_factor=0.5,
            group_balance_factor=0.25,
            balance_groups=2,
            z_factor=0.1,
        ),
        24,
        True,
    ),
}


class Objective(nn.Cell):
    """A number that every output and every loss has a part in."""

    def __init__(self, layer: nn.Cell, direction_ND: np.ndarray):
        super().__init__(auto_prefix=False)
        self.layer, self.direction_ND = layer, Tensor(direction_ND.astype(np.float32))

    def construct(self, x_ND: Tensor) -> Any:
        y_1ND, losses = self.layer(x_ND.reshape((1, *x_ND.shape)))
        total = (y_1ND[0] * self.direction_ND).sum()
        for loss_L in losses:
            total = total + loss_L.sum()
        return total, y_1ND[0], losses


def sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-x)))


def gated(x_D: np.ndarray, w1: np.ndarray, w2: np.ndarray, w3: np.ndarray) -> np.ndarray:
    gate = w1 @ x_D
    return np.asarray(w2 @ (gate * sigmoid(gate) * (w3 @ x_D)))


def choices(scores_E: np.ndarray, moe: MoeConfig) -> list[int]:
    """The experts of one token, best first."""
    groups = np.sort(scores_E.reshape(moe.groups, -1))[:, ::-1][:, : moe.best_of_group].sum(1)
    kept = set(np.argsort(-groups)[: moe.kept_groups])
    allowed = [expert for expert in range(moe.num_experts) if expert // (moe.num_experts // moe.groups) in kept]
    return sorted(allowed, key=lambda expert: -scores_E[expert])[: moe.chosen]


def dropped(chosen_NK: np.ndarray, moe: MoeConfig) -> Iterator[tuple[int, int]]:
    """The choices whose expert is full when their turn comes."""
    tokens, count = chosen_NK.shape
    capacity = min(tokens, math.ceil(moe.chosen * tokens * moe.capacity_factor / moe.num_experts))
    order = [(n, k) for n in range(tokens) for k in range(count)]
    held = [0] * moe.num_experts
    for n, k in order if moe.first_token_first else sorted(order, key=lambda place: place[::-1]):
        expert = chosen_NK[n, k]
        if held[expert] == capacity:
            yield n, k
        held[expert] += held[expert] < capacity


def routes(own: Weights, x_ND: np.ndarray, moe: MoeConfig) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Exponentiated outputs of the router, scores, and the experts of each token."""
    logits_NE = x_ND @ own["router.dense.weight"].T
    powers_NE = np.exp(logits_NE)
    scores_NE = sigmoid(logits_NE) if moe.scores == "sigmoid" else powers_NE / powers_NE.sum(1, keepdims=True)
    chosen_NK = np.array([choices(scores_E + own.get("router.bias", 0.0), moe) for scores_E in scores_NE])
    return powers_NE, scores_NE, chosen_NK


def routed_weights(weights: Weights, moe: MoeConfig) -> Weights:
    return {name.removeprefix("routed_experts." if moe.shared_size else ""): one for name, one in weights.items()}


def expected(weights: Weights, x_ND: np.ndarray, moe: MoeConfig, training: bool) -> tuple[np.ndarray, list[float]]:
    own = routed_weights(weights, moe)
    powers_NE, scores_NE, chosen_NK = routes(own, x_ND, moe)
    weight_NK = np.take_along_axis(scores_NE, chosen_NK, 1)
    if training and moe.capacity_factor > 0:
        for place in dropped(chosen_NK, moe):
            weight_NK[place] = 0
    if moe.normalized:
        weight_NK = weight_NK / np.maximum(weight_NK.sum(1, keepdims=True), 1e-30)
    y_ND = np.zeros_like(x_ND)
    for n, x_D in enumerate(x_ND):
        for expert, weight in zip(chosen_NK[n], moe.scale * weight_NK[n], strict=True):
            y_ND[n] += weight * gated(x_D, *(own[f"ffn.w{number}.weight"][expert] for number in (1, 2, 3)))
        if moe.shared_size:
            gate = sigmoid(own["shared_experts_gate.weight"] @ x_D) if moe.shared_gate else 1.0
            y_ND[n] += gate * gated(x_D, *(own[f"shared_experts.w{number}.weight"] for number in (1, 2, 3)))
    return y_ND, losses_of(chosen_NK, scores_NE, np.log(powers_NE.sum(1)), moe) if training else []


def losses_of(chosen_NK: np.ndarray, scores_NE: np.ndarray, log_sum_N: np.ndarray, moe: MoeConfig) -> list[float]:
    share_E = np.bincount(chosen_NK.reshape(-1), minlength=moe.num_experts) / chosen_NK.size
    mean_E = (scores_NE / scores_NE.sum(1, keepdims=True)).mean(0)
    groups = np.array_split(np.arange(moe.num_experts), moe.balance_groups)
    losses = [
        moe.balance_factor * moe.num_experts * sum(share_E * mean_E),
        moe.group_balance_factor * moe.num_experts * sum(share_E[own].mean() * mean_E[own].sum() for own in groups),
        moe.z_factor * (log_sum_N**2).mean(),
    ]
    return [loss for loss, factor in zip(losses, factors_of(moe), strict=True) if factor]


def factors_of(moe: MoeConfig) -> tuple[float, float, float]:
    return moe.balance_factor, moe.group_balance_factor, moe.z_factor


def draw(layer: nn.Cell, random: np.random.Generator) -> Weights:
    weights: Weights = {}
    for key, parameter in parameters(layer).items():
        weights[key] = random.normal(size=parameter.shape) * 0.7
        parameter.set_data(Tensor(weights[key].astype(np.float32)))
    return weights


@pytest.mark.parametrize("name", CASES)
def test_results_losses_and_gradients(name: str) -> None:
    moe, tokens, training = CASES[name]
    assert bool(expert_block_rows(tokens, moe.chosen, moe.num_experts)) == (name == "blocks")
    random = np.random.default_rng(5)
    layer = expert_feed_forward(WIDTH, moe).set_train(training)
    weights = draw(layer, random)
    x_ND, direction_ND = random.normal(size=(2, tokens, WIDTH))
    held: list[Parameter] = list(parameters(layer).values())
    differentiate = ops.value_and_grad(Objective(layer, direction_ND), 0, ParameterTuple(held), has_aux=True)
    (_, y_ND, losses), (dx_ND, gradients) = differentiate(Tensor(x_ND.astype(np.float32)))

    wanted_ND, wanted = expected(weights, x_ND, moe, training)
    np.testing.assert_allclose(y_ND.asnumpy(), wanted_ND, 2e-5, 2e-5 * np.abs(wanted_ND).max())
    found = losses[0].asnumpy().tolist() if losses else []
    assert found == pytest.approx(wanted, rel=1e-5) and len(found) == len(moe.loss_names)

    def objective(changed: Weights, x: np.ndarray) -> float:
        y, extra = expected(changed, x, moe, training)
        return float((y * direction_ND).sum() + sum(extra))

    for key, gradient in zip(weights, gradients, strict=True):
        step = random.normal(size=gradient.shape)

        def along(size: float, key: str = key, step: np.ndarray = step) -> float:
            return objective(weights | {key: weights[key] + size * step}, x_ND)

        assert (gradient.asnumpy() * step).sum() == pytest.approx(slope_of(along), rel=1e-4, abs=1e-4), key
    step_ND = random.normal(size=x_ND.shape)
    slope = slope_of(lambda size: objective(weights, x_ND + size * step_ND))
    assert (dx_ND.asnumpy() * step_ND).sum() == pytest.approx(slope, rel=1e-4)


def slope_of(function: Callable[[float], float], size: float = 1e-6) -> float:
    """Central difference; so small a step changes no choice of these numbers."""
    return (function(size) - function(-size)) / (2 * size)


@pytest.mark.parametrize("name", ["blocks", "groups"])
def test_choices_are_counted_where_that_is_asked_for(name: str) -> None:
    """Those that find no room count too. Results and losses stay the same to the last bit."""
    moe, tokens, _ = CASES[name]
    random = np.random.default_rng(6)
    layer = expert_feed_forward(WIDTH, moe).set_train()
    weights = draw(layer, random)
    x_ND = random.normal(size=(tokens, WIDTH))
    x_1ND = Tensor(x_ND[np.newaxis].astype(np.float32))
    y_1ND, losses = layer(x_1ND)
    assert counted_blocks(layer) == ()
    assert not any(is_count(loss_L) for loss_L in losses)

    counting = expert_feed_forward(WIDTH, moe).set_train()
    draw(counting, np.random.default_rng(6))
    count_choices(counting)
    assert len(counted_blocks(counting)) == 1
    found_1ND, found = counting(x_1ND)
    *same, counts_E = found
    np.testing.assert_array_equal(found_1ND.asnumpy(), y_1ND.asnumpy())
    assert [one.asnumpy().tolist() for one in same] == [one.asnumpy().tolist() for one in losses]
    chosen_NK = routes(routed_weights(weights, moe), x_ND, moe)[2]
    assert is_count(counts_E)
    assert counts_E.asnumpy().tolist() == np.bincount(chosen_NK.reshape(-1), minlength=moe.num_experts).tolist()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(1, 9))
def test_there_are_blocks_enough_for_any_choice(experts: list[int], rows: int) -> None:
    counts = np.bincount(experts)
    assert sum(math.ceil(count / rows) for count in counts) <= expert_blocks(len(experts), 1, 6, rows)


@pytest.mark.parametrize(("factor", "most"), [(1.0, 4), (1.1, 5), (0.1, 1), (100.0, 16)])
def test_an_expert_has_room_for_its_share_times_the_factor(factor: float, most: int) -> None:
    assert room(16, 2, 8, factor) == most


def test_few_choices_among_many_experts_copy_only_the_experts_that_are_chosen() -> None:
    assert expert_block_rows(1, 8, 128) == 1
    assert expert_blocks(1, 8, 128, 1) == 8
