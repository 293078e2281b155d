import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mf_config.problems import UserError
from mf_infer.sampling_params import SamplingParams
from mf_infer.search.sampler import checked, choose, draw, uniform

GREEDY = SamplingParams(temperature=0)


def test_greedy_takes_the_first_of_equal_tokens():
    assert choose(np.array([1.0, 3.0, 3.0]), GREEDY, 0.99) == 1


@pytest.mark.parametrize("seed", range(5))
def test_greedy_ignores_filters_and_chance(seed):
    logits = np.random.default_rng(seed).normal(size=50)
    params = SamplingParams(temperature=0, top_k=7, top_p=0.1, min_p=0.5, typical_p=0.2)
    assert choose(logits, params, uniform(seed, 3)) == logits.argmax()


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_logits_that_are_no_numbers_are_refused(broken):
    with pytest.raises(UserError, match=r"the model's scores for position 9 are not finite numbers\."):
        checked(np.array([1.0, broken, 2.0], np.float32), 9)


def test_minus_infinity_only_forbids_a_token():
    logits = checked(np.array([-np.inf, 0.0], np.float32), 1)
    assert {choose(logits, SamplingParams(), uniform(0, position)) for position in range(50)} == {1}


def test_the_random_number_depends_on_seed_position_and_answer():
    assert uniform(3, 4) == uniform(3, 4) == uniform(3, 4, 0)
    numbers = {
        uniform(seed, position, answer)
        for seed in (0, 1, 2**64 - 1)
        for position in range(100)
        for answer in (0, 1, 2**64 - 1)
    }
    assert len(numbers) == 900
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
