import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mf_config.problems import UserError
from mf_infer.sampler import draw, next_token, nucleus, penalize, probabilities, uniform
from mf_infer.sampling_params import SamplingParams

DATA = Path(__file__).parent / "data"
HALVES = np.array([1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 16])
GREEDY = SamplingParams(temperature=0)

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


def test_penalty_divides_positive_and_multiplies_negative_logits_once():
    logits = np.array([2.0, -2.0, 0.0, 3.0])
    assert penalize(logits, [0, 1, 1, 0, 2], 2.0).tolist() == [1.0, -4.0, 0.0, 3.0]
    assert logits.tolist() == [2.0, -2.0, 0.0, 3.0]


def test_greedy_takes_the_first_of_equal_tokens_and_obeys_the_penalty():
    logits = np.array([1.0, 3.0, 3.0], np.float32)
    assert next_token(logits, GREEDY, {0}, 0, 5) == 1
    penalized = SamplingParams(temperature=0, repetition_penalty=2.0)
    assert next_token(logits, penalized, {1}, 0, 5) == 2


@pytest.mark.parametrize("seed", range(5))
def test_greedy_ignores_filters_and_seed(seed):
    logits = np.random.default_rng(seed).normal(size=50).astype(np.float32)
    params = SamplingParams(temperature=0, top_k=7, top_p=0.1)
    assert next_token(logits, params, (), seed, 3) == logits.argmax()


@pytest.mark.parametrize("broken", [np.nan, np.inf])
@pytest.mark.parametrize("params", [GREEDY, SamplingParams()])
def test_logits_that_are_no_numbers_are_refused(broken, params):
    logits = np.array([1.0, broken, 2.0], np.float32)
    with pytest.raises(UserError, match=r"the model's scores for position 9 are not finite numbers\."):
        next_token(logits, params, (), 0, 9)


def test_minus_infinity_only_forbids_a_token():
    logits = np.array([-np.inf, 0.0], np.float32)
    assert {next_token(logits, SamplingParams(), (), 0, position) for position in range(50)} == {1}


def test_the_random_number_depends_on_seed_and_position():
    assert uniform(3, 4) == uniform(3, 4)
    numbers = {uniform(seed, position) for seed in (0, 1, 2**64 - 1) for position in range(100)}
    assert len(numbers) == 300
    assert all(0 <= number < 1 for number in numbers)


def test_random_numbers_are_even_over_seeds_and_over_positions():
    for numbers in ([uniform(seed, 5) for seed in range(4000)], [uniform(5, position) for position in range(4000)]):
        counts = np.histogram(numbers, bins=10, range=(0, 1))[0]
        # Chi-square with 9 degrees of freedom exceeds 33.7 once in 10,000.
        assert ((counts - 400) ** 2 / 400).sum() < 33.7


@given(hnp.arrays(np.float64, st.integers(1, 20), elements=st.floats(0, 1)), st.floats(0, 1, exclude_max=True))
@settings(max_examples=300)
def test_draw_never_takes_a_token_without_share(weights, point):
    if weights.sum() < 1e-6:
        weights[0] = 1.0
    assert weights[draw(weights, point)] > 0


def test_draw_at_the_edges():
    shares = np.array([0.0, 0.25, 0.0, 0.75, 0.0])
    assert [draw(shares, point) for point in (0.0, 0.2499, 0.25, 1 - 2**-53)] == [1, 1, 3, 3]
