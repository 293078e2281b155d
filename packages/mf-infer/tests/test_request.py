import numpy as np
import pytest

from mf_config.problems import UserError
from mf_infer.request import Context, Request
from mf_infer.sampling_params import SamplingParams
from mf_infer.search.logprobs import log_softmax

LOGITS = np.random.default_rng(2).normal(size=9).astype(np.float32)


def request(request_id="", **settings):
    return Request([1, 2, 3], SamplingParams(**settings), Context((8,), 50), request_id)


def run(asked):
    """Give a request the same logits until it has ended; returns all pieces."""
    rows, pieces = 1, asked.take_pieces()
    while not asked.has_ended:
        rows = len(asked.advance([LOGITS] * rows))
        pieces += asked.take_pieces()
    return pieces


def test_ids_are_made_up_unless_given():
    assert request("mine").id == "mine"
    assert len({request().id for _ in range(20)}) == 20


def test_pieces_join_to_the_answers():
    asked = request("x", n=3, seed=1, max_tokens=6, ignore_eos=True)
    pieces = run(asked)
    for index, answer in enumerate(asked.output(None).outputs):
        own = [piece for piece in pieces if piece.index == index]
        assert [token for piece in own for token in piece.token_ids] == answer.token_ids
        assert [piece.finish_reason for piece in own] == [None] * 5 + ["length"]
        assert {piece.request_id for piece in own} == {"x"}
    assert asked.take_pieces() == []


def test_the_best_answers_are_those_of_the_highest_mean_log_probability():
    every = request(n=6, best_of=6, seed=5, max_tokens=4, logprobs=0, ignore_eos=True)
    run(every)
    means = {
        tuple(answer.token_ids): np.mean([record.logprob for record in answer.logprobs])
        for answer in every.output(None).outputs
    }
    best = request(n=2, best_of=6, seed=5, max_tokens=4, ignore_eos=True)
    pieces = run(best)
    found = [tuple(answer.token_ids) for answer in best.output(None).outputs]
    assert found == sorted(means, key=lambda ids: -means[ids])[:2]
    assert best.output(None).outputs[0].score == pytest.approx(means[found[0]])
    # Which ones are given is open until the end.
    assert [(piece.index, piece.finish_reason) for piece in pieces] == [(0, "length"), (1, "length")]


def test_log_probabilities_are_those_before_any_setting():
    asked = request(seed=1, max_tokens=3, logprobs=2, temperature=0.1, logit_bias={4: 50.0}, ignore_eos=True)
    run(asked)
    expected = log_softmax(LOGITS.astype(np.float64))
    for record in asked.output(None).outputs[0].logprobs:
        assert record.token_id == 4
        assert record.logprob == pytest.approx(expected[4])
        assert record.top[0][0] == int(LOGITS.argmax())


def test_log_probabilities_do_not_change_the_tokens():
    plain, scored = request(seed=3, max_tokens=20), request(seed=3, max_tokens=20, logprobs=5)
    run(plain)
    run(scored)
    assert plain.output(None).outputs[0].token_ids == scored.output(None).outputs[0].token_ids


def test_scores_of_a_prompt_come_in_pieces():
    asked = request(prompt_logprobs=1)
    table = np.random.default_rng(3).normal(size=(3, 9)).astype(np.float32)
    assert asked.wants_prompt_scores
    asked.take_prompt_scores(0, table[:1])
    asked.take_prompt_scores(1, table[1:])
    assert not asked.wants_prompt_scores
    expected = [float(log_softmax(table[place].astype(float))[token]) for place, token in ((0, 2), (1, 3))]
    asked.abort()
    records = asked.output(None).prompt_logprobs
    assert records[0] is None
    assert [record.logprob for record in records[1:]] == pytest.approx(expected)


def test_requests_without_a_seed_differ_and_a_seed_repeats():
    def drawn(**settings):
        asked = request(max_tokens=12, ignore_eos=True, **settings)
        run(asked)
        return tuple(asked.output(None).outputs[0].token_ids)

    assert drawn(seed=5) == drawn(seed=5)
    assert len({drawn() for _ in range(10)}) > 5


def test_no_end_token_comes_before_min_tokens():
    bias = {8: 50.0}
    early, late = request(logit_bias=bias, max_tokens=9), request(logit_bias=bias, max_tokens=9, min_tokens=4)
    run(early)
    run(late)
    assert early.output(None).outputs[0].token_ids == [8]
    assert len(late.output(None).outputs[0].token_ids) == 5


def test_logits_that_are_no_numbers_are_refused_with_their_position():
    asked = request(max_tokens=3, ignore_eos=True)
    asked.advance([LOGITS])
    with pytest.raises(UserError, match="position 4"):
        asked.advance([LOGITS * np.nan])
