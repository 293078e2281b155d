"""Models that several test modules share: loading is quick, but each size of graph takes seconds to compile."""

from pathlib import Path

import pytest

from mf_infer.llm import LLM, LoadOptions

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def llama():
    """A model without a tokenizer, context 128: batches of 1, 2 and 4."""
    return LLM(DATA / "llama_gqa", options=LoadOptions(max_batch_size=4))


@pytest.fixture(scope="session")
def chat():
    """A model with a tokenizer of 900 entries, vocabulary 960, context 256: batches of 1, 2 and 4."""
    return LLM(DATA / "tiny_chat", options=LoadOptions(max_batch_size=4))
