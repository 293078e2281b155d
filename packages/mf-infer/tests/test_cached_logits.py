"""Logits that come through the cache, held against those of Hugging Face transformers in one pass."""

import json
from pathlib import Path

import numpy as np
import pytest

from mf_infer.engine.chunks import Chunk
from mf_infer.llm import LLM
from mf_models.registry import config_from_hf

DATA = Path(__file__).parent / "data"

pytestmark = pytest.mark.golden


CUTS = pytest.mark.parametrize("sizes", [[20], [7, 13], [1] * 20], ids=["in one pass", "7 and 13", "one by one"])


@pytest.fixture(
    scope="module",
    params=[
        "llama_gqa",
        "llama3_rope",
        "qwen2",
        "mistral_swa",
        "glm4",
        pytest.param("gpt2", marks=pytest.mark.slow),
        pytest.param("deepseek_v3", marks=pytest.mark.slow),
    ],
)
def case(request):
    """A runner and its golden numbers; the window of mistral_swa is 5, so a token sees itself and four before it."""
    llm = LLM(DATA / request.param)
    return llm.engine._runner, np.load(DATA / request.param / "golden.npz")


def scored(runner, ids, sizes):
    """Logits after each token of a row that comes in pieces."""
    found, start = [], 0
    for size in sizes:
        found.append(runner.score(Chunk(ids[start : start + size], start, [1, 2])))
        start += size
    return np.concatenate(found)


@CUTS
def test_tokens_see_the_same_however_a_prompt_is_cut(case, sizes):
    runner, golden = case
    found = scored(runner, golden["input_ids"][0].tolist(), sizes)
    np.testing.assert_allclose(found, golden["logits"][0], atol=2e-4)


@pytest.fixture(scope="module", params=["window4", "window6", "full"])
def other_window(request):
    """mistral_swa with another window, and what it computes then; `config_full.json` has none."""
    folder = DATA / "mistral_windows"
    content, golden = json.loads((folder / "config_full.json").read_text()), np.load(folder / "logits.npz")
    assert content["sliding_window"] is None
    if request.param != "full":
        content["sliding_window"] = int(request.param.removeprefix("window"))
    llm = LLM(DATA / "mistral_swa", config=config_from_hf(content, "config_full.json"))
    return llm.engine._runner, golden["input_ids"][0].tolist(), golden[request.param]


@CUTS
def test_a_window_is_exactly_as_wide_as_the_configuration_says(other_window, sizes):
    runner, ids, logits_BTV = other_window
    np.testing.assert_allclose(scored(runner, ids, sizes), logits_BTV[0], atol=2e-4)


def test_the_last_logits_of_prompts_of_different_lengths_are_those_of_each_alone(case):
    runner, golden = case
    prompts = [golden["prompt0"].tolist(), golden["prompt1"].tolist()]
    found = runner.compute([Chunk(ids, 0, [block]) for block, ids in enumerate(prompts, 1)])
    np.testing.assert_allclose(found, golden["left_padded_last_logits"], atol=2e-4)
