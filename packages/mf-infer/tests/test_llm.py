"""Golden numbers come from Hugging Face transformers: see `data/*/golden.json`."""

import json
import random
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from safetensors.numpy import load_file

import mf_models
from mf_config.problems import UserError
from mf_config.sections.context import ContextSection
from mf_infer.engine.engine import Engine
from mf_infer.llm import LLM
from mf_infer.load_options import LoadOptions
from mf_infer.sampling_params import SamplingParams
from mf_infer.server.logprob_objects import chat_logprobs

DATA = Path(__file__).parent / "data"
GREEDY = SamplingParams(temperature=0, max_tokens=24)
GOLDEN = json.loads((DATA / "llama_gqa" / "golden.json").read_text())
RECORDS = [
    r for r in json.loads((DATA / "tiny_chat" / "golden.json").read_text())["records"] if r["kind"] == "completion"
]
STOPS = json.loads((DATA / "c42-requests.json").read_text())
PENALTIES = json.loads((DATA / "c39-expected.json").read_text())
LONG = json.loads((DATA / "c43-prompts.json").read_text())

pytestmark = pytest.mark.golden


def tokens(ids):
    return {"prompt_token_ids": ids}


def answers(outputs):
    return [output.outputs[0].token_ids for output in outputs]


@pytest.fixture(scope="module")
def golden_prompts():
    return [tokens(ids) for ids in GOLDEN["prompts"]]


@pytest.fixture(scope="module")
def three_prompts(golden_prompts):
    """Batches of three share the graphs for four rows."""
    return [*golden_prompts, tokens([3])]


def test_greedy_tokens_equal_the_golden_ones_in_one_batch(llama, three_prompts):
    outputs = llama.generate(three_prompts, GREEDY)
    assert answers(outputs)[:2] == GOLDEN["greedy"]
    assert [output.prompt_token_ids for output in outputs] == [*GOLDEN["prompts"], [3]]
    assert {output.outputs[0].finish_reason for output in outputs} == {"length"}


def test_cached_tokens_equal_those_of_the_whole_forward_pass(llama):
    _, model = mf_models.load(DATA / "llama_gqa")
    ids = [5, 77, 31]
    answer = answers(llama.generate(tokens(ids), GREEDY))[0]
    padded = np.zeros((1, 32), np.int32)
    for place in range(len(ids), len(ids) + 24):
        padded[0, : len(ids)] = ids
        logits_V = model(ms.Tensor(padded)).asnumpy()[0, place - 1]
        ids.append(int(logits_V.argmax()))
    assert answer == ids[3:]


def test_tokens_do_not_depend_on_the_batch_or_its_order(llama, three_prompts):
    prompts = three_prompts
    alone = [answers(llama.generate(prompt, GREEDY))[0] for prompt in prompts]
    assert answers(llama.generate(prompts, GREEDY)) == alone
    assert answers(llama.generate(prompts[::-1], GREEDY)) == alone[::-1]
    mixed = [SamplingParams(temperature=0, max_tokens=number) for number in (2, 24, 9)]
    assert answers(llama.generate(prompts, mixed)) == [alone[0][:2], alone[1], alone[2][:9]]


def test_repetition_penalty_counts_prompt_tokens(llama, golden_prompts):
    asked = [(penalty, number) for penalty in (1.0, 1.3, 2.0, 0.7) for number in (0, 1)]
    params = [SamplingParams(temperature=0, max_tokens=16, repetition_penalty=penalty) for penalty, _ in asked]
    outputs = llama.generate([golden_prompts[number] for _, number in asked], params)
    expected = [PENALTIES[f"penalty_{penalty}_prompt{number}"] for penalty, number in asked]
    assert answers(outputs) == expected
    alone = [llama.generate(golden_prompts[number], one) for (_, number), one in zip(asked, params, strict=True)]
    assert [answers(output)[0] for output in alone] == expected


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 5.0, "top_k": 1, "seed": 3},
        {"temperature": 0.1, "top_k": 1},
        {"temperature": 1.0, "top_k": 1},
        {"temperature": 0, "top_k": 7, "top_p": 0.3, "seed": 5},
        {"temperature": 0, "top_k": -1, "top_p": 1, "seed": 6},
    ],
)
def test_top_k_one_and_temperature_zero_are_greedy(llama, three_prompts, settings):
    params = SamplingParams(max_tokens=24, **settings)
    assert answers(llama.generate(three_prompts, params))[:2] == GOLDEN["greedy"]


def test_each_request_of_a_batch_has_its_own_filters(llama, golden_prompts):
    kinds = [
        {"top_p": 1e-9},
        {"top_p": 0.5},
        {"top_k": 3},
        {"temperature": 0.3},
        {"min_p": 0.4},
        {"typical_p": 0.5},
        {},
    ]
    params = [SamplingParams(seed=11, max_tokens=16, **kind) for kind in kinds]
    alone = [answers(llama.generate(golden_prompts[0], one))[0] for one in params]
    assert answers(llama.generate([golden_prompts[0]] * len(kinds), params)) == alone
    assert alone[0] == GOLDEN["greedy"][0][:16]
    assert len({tuple(ids) for ids in alone}) == len(kinds)


def test_a_seed_repeats_beside_other_requests_and_seeds_differ(llama, golden_prompts):
    def params(seed):
        return SamplingParams(seed=seed, max_tokens=16)

    alone = answers(llama.generate(golden_prompts[0], params(7)))[0]
    company = answers(llama.generate([golden_prompts[1]] * 2 + [golden_prompts[0]], [params(1), params(7), params(7)]))
    assert company[2] == alone
    assert company[1] != alone
    many = answers(llama.generate([golden_prompts[0]] * 20, [params(seed) for seed in range(20)]))
    assert len({tuple(ids) for ids in many}) >= 10


def test_top_k_of_the_whole_vocabulary_or_more_means_all(llama, golden_prompts):
    params = [SamplingParams(seed=4, top_k=top_k) for top_k in (160, 161, 100_000, 0, -1)]
    assert len({tuple(ids) for ids in answers(llama.generate([golden_prompts[0]] * 5, params))}) == 1


def test_the_memory_of_the_weights_is_told(llama):
    held = sum(array.nbytes for file in DATA.glob("llama_gqa/*.safetensors") for array in load_file(file).values())
    assert llama.weight_bytes == held
    rounded = LLM(DATA / "llama_gqa", options=LoadOptions(weight_type="int8")).weight_bytes
    # A block of 32 takes 34 bytes with its scale. Rows of 48 have two: queries, keys, values, gates, outputs and
    # head; those of 96 have three. The table of embeddings and five norms stay as they are.
    short, long = 2 * (48 + 24 + 24 + 96 + 96 + 48) + 160, 2 * 48
    assert rounded == (160 * 48 + 5 * 48) * 4 + short * 2 * 34 + long * 3 * 34


def test_stop_token_ids_end_an_answer(llama, golden_prompts):
    third = GOLDEN["greedy"][0][2]
    params = SamplingParams(temperature=0, max_tokens=24, stop_token_ids=[third])
    answer = llama.generate(golden_prompts[0], params)[0].outputs[0]
    first = GOLDEN["greedy"][0].index(third)
    assert (answer.token_ids, answer.finish_reason) == (GOLDEN["greedy"][0][: first + 1], "stop")


def test_a_model_without_a_tokenizer_refuses_text(llama):
    with pytest.raises(UserError, match=r"so it can't read text\. Allowed: prompt_token_ids\."):
        llama.generate("text")
    with pytest.raises(UserError, match=r"stop: the model has no tokenizer"):
        llama.generate(tokens([1]), SamplingParams(stop="."))


def test_text_ids_and_finish_reason_equal_the_golden_ones(chat):
    outputs = chat.generate([record["prompt"] for record in RECORDS], SamplingParams(temperature=0, max_tokens=32))
    assert len(outputs) == 15
    for record, output in zip(RECORDS, outputs, strict=True):
        answer = output.outputs[0]
        assert output.prompt == record["prompt"]
        assert output.prompt_token_ids == record["prompt_ids"]
        assert answer.token_ids == record["ids"]
        assert answer.text == record["text"]
        assert answer.finish_reason == record["finish_reason"]


def test_ignore_eos_goes_on_after_the_end_token(chat):
    record = next(record for record in RECORDS if record["finish_reason"] == "stop")
    params = SamplingParams(temperature=0, max_tokens=12, ignore_eos=True)
    answer = chat.generate(record["prompt"], params)[0].outputs[0]
    assert answer.token_ids[: len(record["ids"])] == record["ids"]
    assert (len(answer.token_ids), answer.finish_reason) == (12, "length")


def test_a_stream_joins_to_the_text_piece_by_piece(chat):
    for record in RECORDS:
        pieces = list(chat.stream(record["prompt"], SamplingParams(temperature=0, max_tokens=32)))
        assert "".join(pieces) == record["text"]
        assert all(pieces)
    assert len(pieces) > 10


def test_streams_may_be_read_in_turn(chat):
    params = SamplingParams(temperature=0, max_tokens=32)
    streams = [chat.stream(record["prompt"], params) for record in RECORDS[1:3]]
    texts = ["", ""]
    for pieces in zip_longest(*streams, fillvalue=""):
        texts = [text + piece for text, piece in zip(texts, pieces, strict=True)]
    assert texts == [record["text"] for record in RECORDS[1:3]]


def test_a_stream_that_is_left_does_not_hold_up_the_next(chat):
    stream = chat.stream(RECORDS[1]["prompt"], SamplingParams(temperature=0, max_tokens=200))
    next(stream)
    stream.close()
    answer = chat.generate(RECORDS[0]["prompt"], SamplingParams(temperature=0, max_tokens=32))[0].outputs[0]
    assert answer.text == RECORDS[0]["text"]


@pytest.mark.parametrize("number", range(len(STOPS)))
def test_stop_strings_across_tokens(chat, number):
    case = STOPS[number]
    body = case["body"]
    params = SamplingParams(temperature=0, max_tokens=body["max_tokens"], stop=body["stop"])
    answer = chat.generate(body["prompt"], params)[0].outputs[0]
    assert (answer.text, answer.finish_reason) == (case["expected_text"], case["finish_reason"])
    assert len(answer.token_ids) == case["completion_tokens"]
    assert "".join(chat.stream(body["prompt"], params)) == case["expected_text"]


def test_the_context_bounds_the_answer(chat):
    params = SamplingParams(temperature=0, max_tokens=100, ignore_eos=True)
    answer = chat.generate(LONG["250"], params)[0].outputs[0]
    assert (len(answer.token_ids), answer.finish_reason) == (6, "length")
    full = chat.generate(LONG["256"], params)[0].outputs[0]
    assert (full.token_ids, full.text, full.finish_reason) == ([], "", "length")


def test_a_prompt_beyond_the_context_is_refused_and_the_next_is_answered(chat):
    with pytest.raises(UserError) as caught:
        chat.generate([RECORDS[0]["prompt"], LONG["300"]])
    assert str(caught.value) == "prompt: it has 300 tokens, but the model's context holds 256."
    answer = chat.generate(RECORDS[0]["prompt"], SamplingParams(temperature=0, max_tokens=32))[0].outputs[0]
    assert answer.text == RECORDS[0]["text"]


def test_max_tokens_zero_gives_an_empty_answer(chat):
    answer = chat.generate("hello", SamplingParams(max_tokens=0))[0].outputs[0]
    assert (answer.token_ids, answer.text, answer.finish_reason) == ([], "", "length")


def test_ids_that_the_tokenizer_does_not_know_decode_to_nothing(chat):
    params = SamplingParams(temperature=2.0, seed=1, max_tokens=500, ignore_eos=True)
    answer = chat.generate("hello", params)[0].outputs[0]
    assert len(answer.token_ids) == 252
    assert max(answer.token_ids) >= 900
    assert answer.text == chat.tokenizer.decode(answer.token_ids)


def test_one_setting_or_one_for_each_prompt(chat):
    with pytest.raises(UserError) as caught:
        chat.generate(["a", "b"], [SamplingParams()] * 3)
    assert str(caught.value) == "3 settings for 2 prompts. Allowed: one, or one for each prompt."
    assert chat.generate([], GREEDY) == []


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(UserError, match=r"context\.device_target: Ascend can't be used here: "):
        LLM(DATA / "llama_gqa", context=ContextSection(device_target="Ascend"))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"max_batch_size": 0}, "max_batch_size: 0 can't be used. Allowed: from 1."),
        ({"num_blocks": 1.5}, "num_blocks: 1.5 can't be used. Allowed: from 1."),
        ({"weight_type": "int4"}, "weight_type: 'int4' can't be used. Allowed: float32, int8."),
    ],
)
def test_options_that_can_not_be_used_are_named(option, message):
    with pytest.raises(UserError) as caught:
        LoadOptions(**option)
    assert str(caught.value) == message


def test_log_probabilities_equal_the_golden_ones(chat):
    params = SamplingParams(temperature=0, max_tokens=32, logprobs=5)
    for record, output in zip(RECORDS, chat.generate([record["prompt"] for record in RECORDS], params), strict=True):
        answer = output.outputs[0]
        assert answer.token_ids == record["ids"]
        np.testing.assert_allclose([entry.logprob for entry in answer.logprobs], record["logprobs"], atol=1e-3)
        best = answer.logprobs[0].top
        assert [token_id for token_id, _ in best] == [token_id for token_id, _ in record["top5_first"]]
        np.testing.assert_allclose([p for _, p in best], [p for _, p in record["top5_first"]], atol=1e-3)
        shown = chat_logprobs(answer.logprobs, chat.tokenizer)["content"]
        joined = b"".join(bytes(entry["bytes"]) for entry in shown if entry["token"] != "</s>")
        assert joined.decode("utf-8", "replace").startswith(answer.text.rstrip("\ufffd"))


def test_log_probabilities_of_a_prompt_are_those_of_the_whole_forward_pass(chat):
    golden = np.load(DATA / "tiny_chat" / "golden.npz")
    ids = golden["input_ids"][0].tolist()
    output = chat.generate(tokens(ids), SamplingParams(max_tokens=0, prompt_logprobs=1))[0]
    logits = golden["logits"][0].astype(np.float64)
    expected = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    assert output.prompt_logprobs[0] is None
    found = [record.logprob for record in output.prompt_logprobs[1:]]
    np.testing.assert_allclose(found, [expected[place, token] for place, token in enumerate(ids[1:])], atol=1e-3)
    assert [record.top[0][0] for record in output.prompt_logprobs[1:]] == expected[:-1].argmax(-1).tolist()
    assert output.outputs[0].token_ids == []


def test_no_token_depends_on_the_requests_that_come_and_go_beside_it(llama):
    """Requests of several kinds arrive at random while others are computed; each gets what it gets alone."""
    chance = random.Random(5)
    beginning = GOLDEN["prompts"][1]
    asked = []
    for number in range(12):
        prompt = beginning + [chance.randrange(3, 160) for _ in range(chance.randrange(1, 30))]
        kind = {"seed": number} if number % 4 == 3 else {"temperature": 0}
        asked.append((tokens(prompt), SamplingParams(max_tokens=chance.randrange(4, 40), **kind)))
    alone = [answers(llama.generate(prompt, params))[0] for prompt, params in asked]
    requests = [llama.request(prompt, params) for prompt, params in asked]
    waiting = list(requests)
    while waiting or llama.engine.has_work:
        if waiting and chance.random() < 0.4:
            llama.engine.add_request(waiting.pop())
        llama.engine.step()
    assert [request.output(None).outputs[0].token_ids for request in requests] == alone
    assert llama.engine.load.used_blocks == 0


def test_a_cache_that_is_too_small_for_all_gives_the_same_tokens(llama):
    prompts = [tokens(ids) for ids in (*GOLDEN["prompts"], [3])]
    expected = answers(llama.generate(prompts, GREEDY))
    runner = llama.engine._runner
    # The same graphs, but an engine that may use only five of the blocks.
    small = SmallerCache(runner, 6)
    engine = Engine(small, 4)
    requests = [llama.request(prompt, GREEDY) for prompt in prompts]
    for request in requests:
        engine.add_request(request)
    while engine.has_work:
        engine.step()
    assert [request.output(None).outputs[0].token_ids for request in requests] == expected
    assert engine.load.preemptions > 0


class SmallerCache:
    """A runner of which fewer blocks are told."""

    def __init__(self, runner, blocks):
        self.blocks, self.block_size, self.whole_prompts = blocks, runner.block_size, runner.whole_prompts
        self.compute, self.score, self.copy = runner.compute, runner.score, runner.copy


def test_several_answers_and_beams(llama, golden_prompts):
    prompt = golden_prompts[0]
    several = llama.generate(prompt, SamplingParams(n=3, seed=7, max_tokens=16))[0].outputs
    assert len({tuple(answer.token_ids) for answer in several}) == 3
    assert several[0].token_ids == answers(llama.generate(prompt, SamplingParams(seed=7, max_tokens=16)))[0]
    greedy, beam = (
        llama.generate(prompt, SamplingParams(temperature=0, max_tokens=12, **settings))[0].outputs[0].token_ids
        for settings in ({}, {"num_beams": 4})
    )

    def score(ids):
        asked = SamplingParams(max_tokens=0, prompt_logprobs=0)
        records = llama.generate(tokens(prompt["prompt_token_ids"] + ids), asked)[0].prompt_logprobs
        return sum(record.logprob for record in records[-len(ids) :])

    assert score(beam) >= score(greedy)
    best = llama.generate(prompt, SamplingParams(num_beams=4, n=4, max_tokens=12))[0].outputs
    assert best[0].score == pytest.approx(score(best[0].token_ids) / 12, abs=1e-4)
    assert best[0].token_ids == beam
    assert [answer.score for answer in best] == sorted((answer.score for answer in best), reverse=True)


def test_bad_words_and_bias(chat):
    prompt = RECORDS[1]["prompt"]
    params = SamplingParams(temperature=0, max_tokens=20)
    plain = chat.generate(prompt, params)[0].outputs[0]
    word = plain.text[1:4]
    without = chat.generate(prompt, replace(params, bad_words=[word]))[0].outputs[0]
    assert word not in without.text
    biased = chat.generate(prompt, replace(params, logit_bias={plain.token_ids[0]: -100}))[0].outputs[0]
    assert biased.token_ids[0] != plain.token_ids[0]


@pytest.mark.parametrize(
    "name",
    [
        "mistral_swa",
        "llama3_rope",
        "qwen2",
        "glm4",
        pytest.param("gpt2", marks=pytest.mark.slow),
        pytest.param("deepseek_v3", marks=pytest.mark.slow),
    ],
)
def test_prompts_alone_together_and_in_any_order(name):
    case = json.loads((DATA / "c41-expected.json").read_text())[name]
    llm = LLM(DATA / name, options=LoadOptions(max_batch_size=4))
    prompts = [tokens(ids) for ids in case["prompts"]]
    params = SamplingParams(temperature=0, max_tokens=10, ignore_eos=True)
    assert answers(llm.generate(prompts, params)) == case["greedy"]
    assert answers(llm.generate(prompts[::-1], params)) == case["greedy"][::-1]
    assert [answers(llm.generate(prompt, params))[0] for prompt in prompts] == case["greedy"]
    early = [replace(params, max_tokens=number) for number in (2, 10, 5)]
    assert answers(llm.generate(prompts, early)) == [case["greedy"][0][:2], case["greedy"][1], case["greedy"][2][:5]]


def test_settings_that_are_not_given_come_from_generation_config(chat):
    # The file says: greedy, 32 tokens.
    assert chat.default_params("hello") == SamplingParams(temperature=0, max_tokens=32)
    assert chat.default_params("hello", temperature=0.5).temperature == 0.5


def test_a_conversation_is_written_by_the_chat_template(chat):
    record = next(
        r for r in json.loads((DATA / "tiny_chat" / "golden.json").read_text())["records"] if r["kind"] == "chat"
    )
    prompt = chat.chat_prompt(record["messages"])
    assert prompt["prompt_token_ids"] == record["prompt_ids"]
    answer = chat.generate(prompt, SamplingParams(temperature=0, max_tokens=32))[0].outputs[0]
    assert (answer.text, answer.token_ids) == (record["text"], record["ids"])


def test_a_stream_gives_one_answer(chat):
    with pytest.raises(UserError, match=r"n: 2 can't be used\. Allowed: 1 for a stream\."):
        next(chat.stream("a", SamplingParams(n=2)))
