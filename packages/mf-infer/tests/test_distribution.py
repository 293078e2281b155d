import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mf_infer.sampling_params import SamplingParams
from mf_infer.search.distribution import nucleus, probabilities, typical, without_unlikely
from mf_infer.search.sampler import draw, uniform

DATA = Path(__file__).parent / "data"
HALVES = np.array([1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 16])

logits_strategy = hnp.arrays(np.float64, st.integers(1, 40), elements=st.floats(-30, 30))


def kept(shares):
    return np.flatnonzero(shares).tolist()


@pytest.mark.parametrize(
    ("top_p", "expected"),
    [
        (1e-9, [0]),
        (0.5, [0]),
        (0.501, [0, 1]),
        (0.6, [0, 1]),
        (0.75, [0, 1]),
        (0.7501, [0, 1, 2]),
        (0.9, [0, 1, 2, 3]),
        (0.9376, [0, 1, 2, 3, 4]),
    ],
)
def test_nucleus_keeps_the_token_that_crosses_p(top_p, expected):
    assert kept(nucleus(HALVES, top_p)) == expected


@pytest.mark.golden
def test_nucleus_of_the_published_logits():
    logits = np.array(json.loads((DATA / "c37-logits.json").read_text()))
    # Sums that are exactly p stand above: these probabilities are rounded.
    sets = {1e-9: [0], 0.501: [0, 1], 0.6: [0, 1], 0.7501: [0, 1, 2], 0.9: [0, 1, 2, 3], 1.0: [0, 1, 2, 3, 4]}
    shares = {top_p: probabilities(logits, SamplingParams(top_p=top_p)) for top_p in sets}
    assert {top_p: kept(shares[top_p]) for top_p in sets} == sets
    np.testing.assert_allclose(shares[0.6][:2], [2 / 3, 1 / 3], rtol=1e-12)


def test_nucleus_renormalises():
    np.testing.assert_allclose(nucleus(HALVES, 0.6)[:2], [2 / 3, 1 / 3], rtol=1e-15)


def test_nucleus_does_not_depend_on_the_order_of_ids():
    shuffled = HALVES[[4, 2, 0, 3, 1]]
    assert kept(nucleus(shuffled, 0.75)) == [2, 4]


@given(logits_strategy, st.floats(0.01, 0.99))
def test_nucleus_is_the_smallest_set_that_reaches_p(logits, top_p):
    shares = probabilities(logits, SamplingParams())
    chosen = kept(nucleus(shares, top_p))
    total = shares[chosen].sum()
    assert total >= top_p - 1e-12
    # Without its unlikeliest member it would not reach p.
    assert total - shares[chosen].min() < top_p + 1e-12
    left = np.delete(shares, chosen)
    assert left.size == 0 or shares[chosen].min() >= left.max()


def test_top_p_one_keeps_every_token():
    logits = np.log(HALVES)
    assert kept(probabilities(logits, SamplingParams(top_p=1.0))) == [0, 1, 2, 3, 4]


def test_top_k_with_equal_logits_keeps_exactly_k_lowest_ids_first():
    logits = np.array([1.0, 3.0, 3.0, 3.0, 0.0])
    assert kept(probabilities(logits, SamplingParams(top_k=2))) == [1, 2]
    np.testing.assert_allclose(probabilities(logits, SamplingParams(top_k=2))[1:3], [0.5, 0.5])


@given(logits_strategy, st.integers(1, 40))
def test_top_k_keeps_the_k_largest(logits, top_k):
    shares = probabilities(logits, SamplingParams(top_k=top_k))
    expected = np.argsort(-logits, kind="stable")[:top_k]
    assert kept(shares) == sorted(expected.tolist())
    assert shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("top_k", [-1, 0, 5, 6, 100_000])
def test_top_k_beyond_the_vocabulary_keeps_all(top_k):
    logits = np.log(HALVES)
    np.testing.assert_allclose(probabilities(logits, SamplingParams(top_k=top_k)), HALVES, rtol=1e-14)


def test_temperature_top_k_and_top_p_together():
    case = json.loads((DATA / "c40-expected.json").read_text())
    params = SamplingParams(temperature=case["temperature"], top_k=case["top_k"], top_p=case["top_p"])
    shares = probabilities(np.array(case["logits"]), params)
    assert kept(shares) == case["kept"]
    np.testing.assert_allclose(shares[case["kept"]], case["probabilities"], atol=1e-12)
    draws = [draw(shares, uniform(7, position)) for position in range(20_000)]
    frequencies = np.bincount(draws, minlength=shares.size) / len(draws)
    np.testing.assert_allclose(frequencies, shares, atol=0.015)


def test_a_tiny_temperature_is_greedy_without_overflow():
    logits = np.array([1e4, 3.0, -1e4])
    assert probabilities(logits, SamplingParams(temperature=1e-300)).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("min_p", "expected"), [(0.0, [0, 1, 2, 3, 4]), (0.2, [0, 1, 2]), (0.25, [0, 1, 2]), (0.26, [0, 1]), (1.0, [0])]
)
def test_min_p_keeps_what_is_that_many_times_as_likely_as_the_likeliest(min_p, expected):
    assert kept(without_unlikely(HALVES, min_p)) == expected
    assert kept(probabilities(np.log(HALVES), SamplingParams(min_p=min_p))) == expected


def test_typical_keeps_the_tokens_closest_to_the_expected_surprise():
    # The expected surprise of HALVES is 1.875 bits: token 1 (2 bits) is closest, then 0 (1 bit), then 2 (3 bits).
    assert kept(typical(HALVES, 0.2)) == [1]
    assert kept(typical(HALVES, 0.3)) == [0, 1]
    assert kept(typical(HALVES, 0.75)) == [0, 1]
    assert kept(typical(HALVES, 0.76)) == [0, 1, 2]
    np.testing.assert_allclose(typical(HALVES, 0.3)[:2], [2 / 3, 1 / 3], rtol=1e-15)


@given(logits_strategy, st.floats(0.01, 0.99))
def test_typical_is_the_smallest_set_in_its_order_that_reaches_the_mass(logits, mass):
    shares = probabilities(logits, SamplingParams())
    chosen = kept(typical(shares, mass))
    distance = np.abs(-np.log(shares) - (shares * -np.log(shares)).sum())
    assert shares[chosen].sum() >= mass - 1e-12
    left = np.delete(np.arange(shares.size), chosen)
    assert left.size == 0 or distance[chosen].max() <= distance[left].min() + 1e-9
    worst = max(chosen, key=lambda token: distance[token])
    assert shares[chosen].sum() - shares[worst] < mass + 1e-12


@pytest.mark.property
@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 0.7},
        {"temperature": 1.5, "top_k": 6},
        {"top_p": 0.8},
        {"min_p": 0.1},
        {"typical_p": 0.7},
        {"temperature": 0.9, "top_k": 9, "top_p": 0.9, "min_p": 0.05},
    ],
)
def test_drawn_tokens_have_the_probabilities_that_are_written_out(settings):
    logits = np.random.default_rng(3).normal(size=12) * 1.5
    params = SamplingParams(**settings)
    # The definition, token by token: every cut looks at what the one before has left.
    weights = np.exp(logits / params.temperature)
    order = sorted(range(12), key=lambda token: -weights[token])
    if params.top_k:
        order = order[: params.top_k]
    if params.top_p < 1:
        total = sum(weights[token] for token in order)
        order = [t for i, t in enumerate(order) if sum(weights[u] for u in order[:i]) / total < params.top_p]
    order = [token for token in order if weights[token] >= params.min_p * weights[order[0]]]
    if params.typical_p < 1:
        total = sum(weights[token] for token in order)
        surprise = {token: -np.log(weights[token] / total) for token in order}
        mean = sum(weights[token] / total * surprise[token] for token in order)
        order = sorted(order, key=lambda token: abs(surprise[token] - mean))
        order = [t for i, t in enumerate(order) if sum(weights[u] for u in order[:i]) / total < params.typical_p]
    exact = np.zeros(12)
    exact[order] = weights[order] / weights[order].sum()
    shares = probabilities(logits, params)
    np.testing.assert_allclose(shares, exact, atol=1e-12)
    counts = np.bincount([draw(shares, uniform(11, position)) for position in range(20_000)], minlength=12)
    assert counts[exact == 0].sum() == 0
    expected = exact[exact > 0] * 20_000
    # Chi-square with at most 11 degrees of freedom exceeds 37.4 once in 10,000.
    assert ((counts[exact > 0] - expected) ** 2 / expected).sum() < 37.4
