import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mf_data.tokenizers.base import token_bytes


def test_ids_of_text_count_its_utf8_bytes(bpe_chat, data):
    counts = token_bytes(bpe_chat)
    assert counts.shape == (900,)
    for record in json.loads((data / "stream_sequences.json").read_text(encoding="utf-8")):
        assert counts[record["ids"]].sum() == len(record["text"].encode())


@given(text=st.text(max_size=60))
def test_any_text_counts_its_utf8_bytes(bpe_chat, text):
    ids = bpe_chat.encode(text, add_special_tokens=False, parse_special_tokens=False)
    assert token_bytes(bpe_chat)[ids].sum() == len(text.encode())


def test_special_tokens_count_nothing(bpe_chat):
    counts = token_bytes(bpe_chat)
    assert np.flatnonzero(counts == 0).tolist() == [0, 1, 2, 3, 4]
