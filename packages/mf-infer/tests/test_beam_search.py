"""Beam search against a list of all answers, over a model that is a table of conditional probabilities."""

from itertools import product

import numpy as np
import pytest

from mf_infer.sampling_params import SamplingParams
from mf_infer.search.answer import Answer, Ending
from mf_infer.search.beam_search import BeamSearch
from mf_infer.search.logit_rules import LogitRules

VOCABULARY, LENGTH, END = 4, 4, 3


def logits_after(token_ids):
    """A fixed distribution for each beginning."""
    return np.random.default_rng([5, *token_ids]).normal(size=VOCABULARY) * 2


def log_probability(token_ids):
    total = 0.0
    for place, token in enumerate(token_ids):
        logits = logits_after(token_ids[:place])
        total += logits[token] - np.log(np.exp(logits).sum())
    return total


def all_answers(end=True):
    """Every answer: up to an end token, or of the full length."""
    for length in range(1, LENGTH + 1):
        for ids in product(range(VOCABULARY), repeat=length):
            ended = end and ids[-1] == END
            if (not end or END not in ids[:-1]) and (ended or length == LENGTH):
                yield ids


def search(end=True, **settings):
    params = SamplingParams(max_tokens=LENGTH, **settings)
    ending = Ending.of(params, (END,) if end else (), 100)
    beams = BeamSearch([9], LogitRules(params, (), ending.end_ids), LENGTH, lambda: Answer(ending, None))
    rows = [()]
    steps = 0
    while rows:
        following = beams.advance([logits_after(row) for row in rows])
        rows = [(*rows[row], token) for row, token in following]
        steps += 1
    return [(tuple(answer.token_ids), answer.score) for answer in beams.grown], steps


@pytest.mark.parametrize("length_penalty", [1.0, 0.0, 2.0, -1.0])
def test_beams_for_all_beginnings_find_the_best_answers_of_all(length_penalty):
    scored = [(ids, log_probability(ids) / len(ids) ** length_penalty) for ids in all_answers()]
    best = sorted(scored, key=lambda pair: -pair[1])[:5]
    found, _ = search(num_beams=VOCABULARY**LENGTH, n=5, length_penalty=length_penalty)
    assert [ids for ids, _ in found] == [ids for ids, _ in best]
    np.testing.assert_allclose([score for _, score in found], [score for _, score in best], rtol=1e-12)


def test_two_beams_keep_the_two_likeliest_beginnings():
    beams = [((), 0.0)]
    for _ in range(LENGTH):
        longer = [((*ids, token), log_probability((*ids, token))) for ids, _ in beams for token in range(VOCABULARY)]
        beams = sorted(longer, key=lambda pair: -pair[1])[:2]
    found, steps = search(end=False, num_beams=2, n=2)
    assert [ids for ids, _ in found] == [ids for ids, _ in beams]
    np.testing.assert_allclose([score for _, score in found], [score / LENGTH for _, score in beams], rtol=1e-12)
    assert steps == LENGTH


def test_beams_are_ranked_by_all_of_their_tokens():
    # Greedy takes the likeliest first token; some other beginning leads to a likelier whole.
    greedy = []
    for _ in range(LENGTH):
        greedy.append(int(logits_after(greedy).argmax()))
    best = max((ids for ids in all_answers(end=False) if len(ids) == LENGTH), key=log_probability)
    assert tuple(greedy) != best, "the table must have such a case"
    found, _ = search(end=False, num_beams=VOCABULARY**LENGTH)
    assert found[0][0] == best


def test_early_stopping_takes_the_first_whole_answers():
    early, early_steps = search(num_beams=2, n=2, early_stopping=True)
    late, late_steps = search(num_beams=2, n=2)
    assert early_steps <= late_steps
    assert all(ids[-1] == END or len(ids) == LENGTH for ids, _ in early + late)
    assert late[0][1] >= early[0][1]


def test_rules_hold_in_every_beam():
    found, _ = search(end=False, num_beams=4, n=4, no_repeat_ngram_size=1)
    assert all(len(set(ids)) == LENGTH for ids, _ in found)


def test_an_aborted_search_gives_what_it_has():
    params = SamplingParams(max_tokens=LENGTH, num_beams=2)
    ending = Ending.of(params, (), 100)
    beams = BeamSearch([1], LogitRules(params), LENGTH, lambda: Answer(ending, None))
    beams.advance([logits_after(())])
    beams.abort()
    assert list(beams.grown) == []
