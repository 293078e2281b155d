import numpy as np
import pytest

from mf_infer.engine import Engine
from mf_infer.request import Request
from mf_infer.sampling_params import SamplingParams

VOCABULARY = 13


def successor(ids):
    """The fake model: its next token depends on every token and place before."""
    return sum((place + 1) * token for place, token in enumerate(ids)) % VOCABULARY


def expected(prompt, count):
    ids = list(prompt)
    for _ in range(count):
        ids.append(successor(ids))
    return ids[len(prompt) :]


class FakeSlots:
    """Remembers tokens by position, so that a wrong position gives a wrong token."""

    def __init__(self, count, tokens):
        self.rows = [[0] * tokens for _ in range(count)]

    def prefill(self, prompts):
        assert len(prompts) == len(self.rows)
        for row, prompt in zip(self.rows, prompts, strict=True):
            row[: len(prompt)] = prompt
        return self._logits([len(prompt) for prompt in prompts])

    def decode(self, token_ids, positions):
        for row, token, position in zip(self.rows, token_ids, positions, strict=True):
            row[position] = token
        return self._logits([position + 1 for position in positions])

    def _logits(self, lengths):
        likeliest = [successor(row[:length]) for row, length in zip(self.rows, lengths, strict=True)]
        return np.eye(VOCABULARY, dtype=np.float32)[likeliest]


class FakeRunner:
    def __init__(self):
        self.asked = []

    def slots(self, count, tokens):
        self.asked.append((count, tokens))
        return FakeSlots(count, tokens)


def greedy(prompt, max_tokens):
    return Request(prompt, SamplingParams(temperature=0, max_tokens=max_tokens), (), 100, None)


def run(engine, requests):
    for request in requests:
        engine.add(request)
    while any(request.finish_reason is None for request in requests):
        engine.step()


def test_requests_of_different_lengths_share_a_group():
    runner = FakeRunner()
    requests = [greedy([1, 2, 3], 5), greedy([4], 9), greedy([5, 6], 1)]
    run(Engine(runner, 4), requests)
    assert [request.token_ids for request in requests] == [
        expected([1, 2, 3], 5),
        expected([4], 9),
        expected([5, 6], 1),
    ]
    assert runner.asked == [(3, 10)]


def test_more_requests_than_fit_wait_for_the_next_group_in_order():
    runner = FakeRunner()
    requests = [greedy([number], number) for number in (1, 2, 3, 4, 5)]
    run(Engine(runner, 2), requests)
    assert [request.token_ids for request in requests] == [expected([n], n) for n in (1, 2, 3, 4, 5)]
    assert runner.asked == [(2, 3), (2, 5), (1, 6)]


def test_an_aborted_request_leaves_its_group_and_the_queue():
    runner = FakeRunner()
    engine = Engine(runner, 1)
    first, second, third = greedy([1], 50), greedy([2], 50), greedy([3], 2)
    for request in (first, second, third):
        engine.add(request)
    engine.step()
    first.abort()
    second.abort()
    while third.finish_reason is None:
        engine.step()
    assert len(first.token_ids) == 1
    assert second.token_ids == []
    assert third.token_ids == expected([3], 2)


def test_a_request_that_ended_before_it_began_needs_no_model():
    runner = FakeRunner()
    engine = Engine(runner, 1)
    engine.add(greedy([1], 0))
    engine.step()
    assert runner.asked == []


def test_a_step_without_work_does_nothing():
    runner = FakeRunner()
    Engine(runner, 1).step()
    assert runner.asked == []


def test_drawn_tokens_do_not_depend_on_company_or_place():
    def drawn(max_batch_size, place):
        requests = [greedy([9, 9], 6) for _ in range(3)]
        params = SamplingParams(temperature=3.0, seed=11, max_tokens=20)
        requests[place] = Request([1, 2], params, (), 100, None)
        run(Engine(FakeRunner(), max_batch_size), requests)
        return requests[place].token_ids

    alone = drawn(1, 0)
    assert alone == drawn(3, 0) == drawn(3, 2) == drawn(2, 1)
    assert alone != expected([1, 2], 20)


def test_seconds_cover_the_work_on_a_request():
    requests = [greedy([1], 2), greedy([1], 0)]
    run(Engine(FakeRunner(), 2), requests)
    assert requests[0].seconds > 0
    assert requests[1].seconds == pytest.approx(0)
