"""Logits that come through the cache, held against those of Hugging Face transformers in one pass."""

from pathlib import Path

import numpy as np
import pytest

from mf_infer.chunks import Chunk
from mf_infer.llm import LLM

DATA = Path(__file__).parent / "data"

pytestmark = pytest.mark.golden


@pytest.fixture(scope="module", params=["mistral_swa", pytest.param("gpt2", marks=pytest.mark.slow)])
def case(request):
    """A runner and its golden numbers; the window of mistral_swa is 5, so a token sees itself and four before it."""
    llm = LLM(DATA / request.param)
    return llm.engine._runner, np.load(DATA / request.param / "golden.npz")


@pytest.mark.parametrize("sizes", [[20], [7, 13], [1] * 20], ids=["in one pass", "7 and 13", "one by one"])
def test_tokens_see_the_same_however_a_prompt_is_cut(case, sizes):
    runner, golden = case
    found, start = [], 0
    for size in sizes:
        chunk = Chunk(golden["input_ids"][0, start : start + size].tolist(), start, [1, 2])
        found.append(runner.score(chunk))
        start += size
    np.testing.assert_allclose(np.concatenate(found), golden["logits"][0], atol=2e-4)


def test_the_last_logits_of_prompts_of_different_lengths_are_those_of_each_alone(case):
    runner, golden = case
    prompts = [golden["prompt0"].tolist(), golden["prompt1"].tolist()]
    found = runner.compute([Chunk(ids, 0, [block]) for block, ids in enumerate(prompts, 1)])
    np.testing.assert_allclose(found, golden["left_padded_last_logits"], atol=2e-4)
