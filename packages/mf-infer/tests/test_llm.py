"""Golden numbers come from Hugging Face transformers: see `data/*/golden.json`."""

import json
from itertools import zip_longest
from pathlib import Path

import mindspore as ms
import numpy as np
import pytest

import mf_models
from mf_config.problems import UserError
from mf_config.sections.context import ContextSection
from mf_infer.llm import LLM
from mf_infer.sampling_params import SamplingParams

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
    assert answers(outputs) == [PENALTIES[f"penalty_{penalty}_prompt{number}"] for penalty, number in asked]


def test_top_k_one_is_greedy(llama, three_prompts):
    params = SamplingParams(temperature=5.0, top_k=1, seed=3, max_tokens=24)
    assert answers(llama.generate(three_prompts, params))[:2] == GOLDEN["greedy"]


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
    for record in RECORDS[:3]:
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


def test_a_batch_size_below_one_is_refused():
    with pytest.raises(UserError, match=r"max_batch_size: 0 can't be used\. Allowed: from 1\."):
        LLM(DATA / "llama_gqa", max_batch_size=0)
