import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_infer.sampling_params import SamplingParams
from mf_infer.search.logit_rules import LogitRules, forbid, penalize, repeating

LOGITS = np.array([2.0, -2.0, 0.0, 3.0, 1.0])


def applied(prompt=(), answer=(), bad_words=(), end_ids=(), **settings):
    return LogitRules(SamplingParams(**settings), bad_words, end_ids).apply(LOGITS, prompt, answer).tolist()


def test_without_rules_the_logits_stay_the_same_object():
    assert LogitRules(SamplingParams()).apply(LOGITS, [1], [2]) is LOGITS


def test_repetition_penalty_divides_positive_and_multiplies_negative_logits_once():
    assert penalize(LOGITS, [0, 1, 1, 0, 2], 2.0).tolist() == [1.0, -4.0, 0.0, 3.0, 1.0]
    assert applied([0, 0], [1], repetition_penalty=2.0) == [1.0, -4.0, 0.0, 3.0, 1.0]
    assert LOGITS.tolist() == [2.0, -2.0, 0.0, 3.0, 1.0]


def test_presence_and_frequency_count_the_answer_alone():
    assert applied([3], [0, 0, 1], presence_penalty=0.5) == [1.5, -2.5, 0.0, 3.0, 1.0]
    assert applied([3], [0, 0, 1], frequency_penalty=0.5) == [1.0, -2.5, 0.0, 3.0, 1.0]
    assert applied([3], [0, 0, 1], presence_penalty=-1.0, frequency_penalty=0.25) == [2.5, -1.25, 0.0, 3.0, 1.0]
    assert applied([3], [], presence_penalty=2.0) == LOGITS.tolist()


def test_bias_is_added_first():
    assert applied(logit_bias={1: 4.0, 3: -1.0, 99: 5.0}) == [2.0, 2.0, 0.0, 2.0, 1.0]
    # 2 after the bias, so it is divided and not multiplied.
    assert applied([1], logit_bias={1: 4.0}, repetition_penalty=2.0)[1] == 1.0


def test_bad_words_of_one_and_of_several_tokens():
    none = -np.inf
    assert applied(bad_words=[[4]]) == [2.0, -2.0, 0.0, 3.0, none]
    assert applied([], [1, 2], bad_words=[[1, 2, 3], [2, 0], [0, 4]]) == [none, -2.0, 0.0, none, 1.0]
    # What began in the prompt is no word of the answer.
    assert applied([1, 2], [], bad_words=[[1, 2, 3]]) == LOGITS.tolist()


def test_no_end_token_before_min_tokens():
    none = -np.inf
    assert applied([9], [0], end_ids=[3], min_tokens=2) == [2.0, -2.0, 0.0, none, 1.0]
    assert applied([9], [0, 0], end_ids=[3], min_tokens=2) == LOGITS.tolist()


def test_no_run_comes_twice_in_prompt_and_answer():
    none = -np.inf
    assert applied([0, 1, 2], [0, 1], no_repeat_ngram_size=3) == [2.0, -2.0, none, 3.0, 1.0]
    assert applied([0, 1], [3, 1], no_repeat_ngram_size=2) == [2.0, -2.0, 0.0, none, 1.0]
    assert applied([0, 1], [], no_repeat_ngram_size=1) == [none, none, 0.0, 3.0, 1.0]


@given(st.lists(st.integers(0, 3), max_size=20), st.integers(1, 4))
def test_exactly_the_tokens_that_repeat_a_run_are_found(ids, size):
    runs = {tuple(ids[place : place + size]) for place in range(len(ids) - size + 1)}
    expected = {token for token in range(4) if tuple([*ids, token][-size:]) in runs and len(ids) + 1 >= size}
    assert set(repeating(ids, size)) == expected


def test_where_everything_is_forbidden_nothing_is():
    assert forbid(LOGITS, range(5)) is LOGITS
    assert np.isneginf(forbid(LOGITS, [0, 7])[0])


@pytest.mark.parametrize("penalty", [0.7, 1.3])
def test_a_penalty_is_the_same_for_any_order_of_tokens(penalty):
    assert applied([1, 0, 3], [], repetition_penalty=penalty) == applied([3], [0, 1], repetition_penalty=penalty)
