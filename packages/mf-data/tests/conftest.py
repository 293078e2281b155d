"""What several test modules share."""

from pathlib import Path

import pytest

from mf_data.tokenizers.byte_level import ByteLevelTokenizer, load_tokenizer

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def data() -> Path:
    return DATA


@pytest.fixture(scope="session")
def bpe_chat() -> ByteLevelTokenizer:
    """A byte-level BPE tokenizer of 900 entries; its golden files were made by an independent implementation."""
    return load_tokenizer(DATA / "bpe_chat")
