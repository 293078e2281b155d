"""The engine with a model of a few lines, whose next token depends on every token and place in the cache."""

import random
from itertools import combinations

import numpy as np
import pytest

from mf_config.problems import UserError
from mf_infer.engine.engine import Engine, RequestFailedError
from mf_infer.engine.schedule import PROMPT_TOKENS
from mf_infer.request import Context, Request
from mf_infer.sampling_params import SamplingParams

VOCABULARY = 13
ROOM = 10_000


def successor(ids):
    return sum((place + 1) * token for place, token in enumerate(ids)) % VOCABULARY


def expected(prompt, count):
    ids = list(prompt)
    for _ in range(count):
        ids.append(successor(ids))
    return ids[len(prompt) :]


class FakeRunner:
    """Remembers tokens by block and place, so that a wrong block or a wrong place gives a wrong token."""

    def __init__(self, blocks=100, block_size=4, whole_prompts=False):
        self.blocks, self.block_size, self.whole_prompts = blocks, block_size, whole_prompts
        self.content = np.full((blocks, block_size), -1)
        self.calls = []

    def compute(self, chunks):
        self.calls.append(("compute", [len(chunk.tokens) for chunk in chunks]))
        return [self._feed(chunk)[-1] for chunk in chunks]

    def score(self, chunk):
        self.calls.append(("score", len(chunk.tokens)))
        return self._feed(chunk)

    def copy(self, pairs):
        self.calls.append(("copy", len(pairs)))
        for source, target in pairs:
            self.content[target] = self.content[source]

    def _feed(self, chunk):
        assert 0 not in chunk.blocks, "block 0 is nobody's"
        logits = []
        for place, token in enumerate(chunk.tokens, chunk.start):
            self.content[chunk.blocks[place // self.block_size], place % self.block_size] = token
            seen = self.content[list(chunk.blocks)].reshape(-1)[: place + 1]
            # Close to one another, so that drawn tokens differ.
            logits.append(np.eye(VOCABULARY, dtype=np.float32)[successor(seen)] * 2)
        return np.stack(logits)


def greedy(prompt, max_tokens, **settings):
    return Request(prompt, SamplingParams(temperature=0, max_tokens=max_tokens, **settings), Context((), ROOM))


def answers(request):
    return [answer.token_ids for answer in request.output(None).outputs]


def run(engine, requests):
    for request in requests:
        engine.add_request(request)
    pieces = []
    while engine.has_work:
        pieces += engine.step()
    return pieces


def test_requests_of_different_lengths_are_decoded_together():
    runner = FakeRunner()
    requests = [greedy([1, 2, 3], 5), greedy([4], 9), greedy([5, 6], 1)]
    run(Engine(runner, 4), requests)
    assert [answers(request) for request in requests] == [
        [expected([1, 2, 3], 5)],
        [expected([4], 9)],
        [expected([5, 6], 1)],
    ]
    assert ("compute", [1, 1]) in runner.calls


def test_a_request_joins_while_others_are_decoded():
    runner = FakeRunner()
    engine = Engine(runner, 4)
    first, second = greedy([1, 2], 20), greedy([7, 8, 9], 20)
    engine.add_request(first)
    for _ in range(5):
        engine.step()
    run(engine, [second])
    assert answers(first) == [expected([1, 2], 20)]
    assert answers(second) == [expected([7, 8, 9], 20)]
    assert ("compute", [1, 1]) in runner.calls


def test_a_long_prompt_comes_in_chunks_between_which_others_go_on():
    runner = FakeRunner(blocks=500)
    engine = Engine(runner, 4)
    short, long = greedy([1], 20), greedy([number % 7 for number in range(2 * PROMPT_TOKENS + 10)], 2)
    run(engine, [short, long])
    assert answers(long) == [expected(long.prompt_ids, 2)]
    assert [sizes for _, sizes in runner.calls[:4]] == [[PROMPT_TOKENS, 1], [PROMPT_TOKENS, 1], [10, 1], [1, 1]]


def test_short_prompts_are_computed_together_as_far_as_they_fit_in_a_step():
    runner = FakeRunner(blocks=1000)
    sizes = [PROMPT_TOKENS // 2, PROMPT_TOKENS // 2 - 9, 10, 5]
    requests = [greedy([number, *range(size - 1)], 3) for number, size in enumerate(sizes)]
    run(Engine(runner, 8), requests)
    # The third one does not fit, the fourth one does.
    assert [call for _, call in runner.calls[:2]] == [[*sizes[:2], 5], [10, 1, 1, 1]]
    for request in requests:
        assert answers(request) == [expected(request.prompt_ids, 3)]


def test_prompts_take_turns():
    runner = FakeRunner(blocks=1000)
    long = greedy([number % 7 for number in range(4 * PROMPT_TOKENS)], 1)
    short = greedy([3, 1, 2], 1)
    engine = Engine(runner, 4)
    engine.add_request(long)
    engine.add_request(short)
    while not short.has_ended:
        engine.step()
    assert not long.has_ended


def test_more_requests_than_rows_wait_in_order():
    engine = Engine(FakeRunner(), 2)
    requests = [greedy([number], 4) for number in (1, 2, 3, 4, 5)]
    ended = [piece.request_id for piece in run(engine, requests) if piece.finish_reason]
    assert ended == [request.id for request in requests]
    assert [answers(request)[0] for request in requests] == [expected([n], 4) for n in (1, 2, 3, 4, 5)]


def test_a_second_prompt_with_the_same_beginning_is_not_computed_again():
    runner = FakeRunner()
    engine = Engine(runner, 4)
    prompt = list(range(10))
    run(engine, [greedy(prompt, 3)])
    runner.calls.clear()
    second = greedy([*prompt, 5, 6], 3)
    run(engine, [second])
    # Two full blocks of four were found; the third one held the first answer too.
    assert runner.calls[0] == ("compute", [4])
    assert (second.reused_tokens, engine.load.reused_tokens) == (8, 8)
    assert answers(second) == [expected([*prompt, 5, 6], 3)]


def test_prompts_that_come_together_share_their_beginning():
    engine = Engine(FakeRunner(), 8)
    prompt = [number % 11 for number in range(40)]
    requests = [greedy([*prompt, number], 4) for number in range(4)]
    run(engine, requests)
    assert [answers(request)[0] for request in requests] == [expected([*prompt, number], 4) for number in range(4)]
    assert engine.load.reused_tokens == 3 * 40


def test_a_prompt_whose_blocks_are_all_known_still_gives_logits():
    engine = Engine(FakeRunner(), 4)
    for _ in range(2):
        request = greedy([1, 2, 3, 4, 5, 6, 7, 8], 3)
        run(engine, [request])
        assert answers(request) == [expected([1, 2, 3, 4, 5, 6, 7, 8], 3)]


def test_where_blocks_run_out_the_youngest_request_waits_and_is_computed_again():
    engine = Engine(FakeRunner(blocks=9), 4)
    requests = [greedy([number, 2], 22) for number in (1, 2, 3)]
    run(engine, requests)
    assert [answers(request)[0] for request in requests] == [expected([number, 2], 22) for number in (1, 2, 3)]
    assert engine.load.preemptions > 0
    assert engine.load.used_blocks == 0


def test_models_whose_keys_depend_on_the_length_get_whole_prompts():
    runner = FakeRunner(blocks=500, whole_prompts=True)
    prompt = [number % 7 for number in range(PROMPT_TOKENS + 50)]
    engine = Engine(runner, 4)
    requests = [greedy(prompt, 2), greedy(prompt, 2)]
    run(engine, requests)
    assert [sizes for _, sizes in runner.calls[:2]] == [[PROMPT_TOKENS + 50], [PROMPT_TOKENS + 50, 1]]
    assert answers(requests[1]) == [expected(prompt, 2)]


def test_several_answers_share_one_prompt():
    runner = FakeRunner()
    engine = Engine(runner, 8)
    params = SamplingParams(n=3, seed=4, max_tokens=12)
    request = Request([1, 2, 3, 4, 5], params, Context((), ROOM))
    run(engine, [request])
    assert runner.calls[:2] == [("compute", [5]), ("copy", 2)]
    assert len({tuple(ids) for ids in answers(request)}) == 3
    # The first answer is the one that a request for one answer gets.
    alone = Request([1, 2, 3, 4, 5], SamplingParams(seed=4, max_tokens=12), Context((), ROOM))
    run(engine, [alone])
    assert answers(alone)[0] == answers(request)[0]
    assert engine.load.used_blocks == 0


def test_several_answers_survive_a_lack_of_blocks():
    params = SamplingParams(n=3, seed=4, max_tokens=12)
    request = Request([1, 2, 3, 4, 5], params, Context((), ROOM))
    run(Engine(FakeRunner(), 8), [request])
    company = [Request([1, 2, 3, 4, 5], params, Context((), ROOM)), greedy([9, 9], 20)]
    engine = Engine(FakeRunner(blocks=12), 8)
    run(engine, company)
    assert engine.load.preemptions > 0
    assert answers(company[0]) == answers(request)
    assert answers(company[1]) == [expected([9, 9], 20)]


def test_an_aborted_request_frees_its_blocks_and_its_place():
    engine = Engine(FakeRunner(), 1)
    first, second, third = greedy([1, 5], 50), greedy([2], 50), greedy([3], 2)
    for request in (first, second, third):
        engine.add_request(request)
    engine.step()
    assert (engine.load.running, engine.load.waiting, engine.load.used_blocks) == (1, 2, 1)
    engine.abort(first.id)
    engine.abort(second.id)
    engine.abort("unknown")
    assert (engine.load.running, engine.load.waiting, engine.load.used_blocks) == (0, 1, 0)
    while engine.has_work:
        engine.step()
    assert len(answers(first)[0]) == 1
    assert first.output(None).outputs[0].finish_reason == "abort"
    assert answers(second) == [[]]
    assert answers(third) == [expected([3], 2)]


def test_an_empty_answer_needs_no_model():
    runner = FakeRunner()
    request = greedy([1], 0)
    pieces = run(Engine(runner, 1), [request])
    assert (runner.calls, answers(request)) == ([], [[]])
    assert [(piece.finish_reason, piece.token_ids) for piece in pieces] == [("length", [])]


def test_an_empty_answer_with_scores_of_the_prompt_reads_the_prompt():
    runner = FakeRunner()
    request = greedy([1, 2, 3], 0, prompt_logprobs=0)
    run(Engine(runner, 1), [request])
    assert runner.calls == [("score", 3)]
    assert [record and record.token_id for record in request.output(None).prompt_logprobs] == [None, 2, 3]


def test_a_step_without_work_does_nothing():
    runner = FakeRunner()
    assert Engine(runner, 1).step() == []
    assert runner.calls == []


def test_a_prompt_that_the_cache_can_not_hold_and_a_doubled_id_are_refused():
    engine = Engine(FakeRunner(blocks=3), 1)
    with pytest.raises(UserError) as caught:
        engine.add_request(greedy([1] * 9, 1))
    assert str(caught.value) == (
        "prompt: it has 9 tokens, but the cache holds 8. Allowed: a shorter one, or more num_blocks."
    )
    request = Request([1], SamplingParams(), Context((), 5), "same")
    engine.add_request(request)
    with pytest.raises(UserError, match=r"request same: has not ended yet\. Allowed: another id\."):
        engine.add_request(Request([1], SamplingParams(), Context((), 5), "same"))


def test_most_tokens_count_shared_blocks_once():
    engine = Engine(FakeRunner(blocks=11), 4)
    # Ten blocks of four; the prompt fills two of them, and each of two answers may have four of the other eight.
    assert engine.most_tokens(9, 2) == (2 + 4) * 4
    assert engine.most_tokens(9, 1) == 40


def test_logits_that_are_no_numbers_end_the_request_alone():
    runner = FakeRunner()
    engine = Engine(runner, 2)
    good, bad = greedy([1], 3), greedy([2, 2, 2], 3)
    compute = runner.compute
    runner.compute = lambda chunks: [
        logits * (np.nan if len(chunk.tokens) == 3 else 1)
        for chunk, logits in zip(chunks, compute(chunks), strict=True)
    ]
    engine.add_request(good)
    engine.add_request(bad)
    pieces = []
    with pytest.raises(
        RequestFailedError, match=r"the model's scores for position 3 are not finite numbers\."
    ) as caught:
        while engine.has_work:
            pieces += engine.step()
    assert caught.value.request_id == bad.id
    while engine.has_work:
        pieces += engine.step()
    assert answers(good) == [expected([1], 3)]
    # What the failing step computed for the other request was not lost.
    assert [token for piece in pieces for token in piece.token_ids] == expected([1], 3)
    assert engine.load.used_blocks == 0


EXTREMES = [
    ("temperature", 1e-320),
    ("temperature", 1e308),
    ("top_p", 1e-320),
    ("min_p", 1.0),
    ("typical_p", 1e-320),
    ("repetition_penalty", 1e-3),
    ("repetition_penalty", 1e3),
    ("logit_bias", dict.fromkeys(range(VOCABULARY), -1e4)),
    ("logit_bias", {1: -1e4, 2: 1e4, 99: 1.0}),
    ("top_k", 10**30),
    ("num_beams", 3),
    ("length_penalty", 10),
    ("length_penalty", -10),
    ("no_repeat_ngram_size", 1),
    ("frequency_penalty", -2),
    ("stop_token_ids", [10**30]),
    ("min_tokens", 3),
]


@pytest.mark.parametrize(("first", "second"), list(combinations(EXTREMES, 2)))
def test_no_setting_that_is_allowed_breaks_the_engine(first, second):
    params = SamplingParams(**{"max_tokens": 4, "seed": 1, **dict([first, second])})
    request = Request([1, 2, 3], params, Context((0,), ROOM), "")
    run(Engine(FakeRunner(), 4), [request])
    assert request.has_ended


@pytest.mark.property
@pytest.mark.parametrize("seed", range(12))
def test_no_answer_depends_on_what_comes_and_goes_beside_it(seed):
    chance = random.Random(seed)
    beginnings = [[chance.randrange(VOCABULARY) for _ in range(chance.randrange(1, 30))] for _ in range(3)]

    def new_request():
        prompt = chance.choice(beginnings) + [chance.randrange(VOCABULARY) for _ in range(chance.randrange(5))]
        kind = chance.choice(
            [{"temperature": 0}, {"seed": 3}, {"n": 2, "seed": 5}, {"num_beams": 3}, {"seed": 1, "prompt_logprobs": 0}]
        )
        return prompt, SamplingParams(max_tokens=chance.randrange(1, 15), **kind)

    asked = [new_request() for _ in range(25)]
    engine = Engine(FakeRunner(blocks=chance.choice([40, 60, 200])), chance.choice([2, 5]))
    running, left = [], list(asked)
    while left or engine.has_work:
        if left and chance.random() < 0.3:
            prompt, params = left.pop(0)
            running.append(Request(prompt, params, Context((), ROOM)))
            engine.add_request(running[-1])
        if chance.random() < 0.05:
            gone = Request(beginnings[0], SamplingParams(max_tokens=9), Context((), ROOM))
            engine.add_request(gone)
            engine.step()
            engine.abort(gone.id)
        engine.step()
    assert engine.load.used_blocks == 0
    for (prompt, params), request in zip(asked, running, strict=True):
        alone = Request(prompt, params, Context((), ROOM))
        run(Engine(FakeRunner(), 4), [alone])
        assert answers(request) == answers(alone)
