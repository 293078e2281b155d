import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mf_data.tokenizers.loading import load_tokenizer
from mf_infer.outputs import TokenLogprobs
from mf_infer.search.logprobs import log_softmax, token_logprobs
from mf_infer.server.logprob_objects import chat_logprobs, completion_logprobs, token_text

CHAT = Path(__file__).parent / "data" / "tiny_chat"
RECORDS = json.loads((CHAT / "golden.json").read_text())["records"]


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer(CHAT)


def plain(ids):
    return [TokenLogprobs(token_id, -1.0, ((token_id, -1.0), (5, -2.0))) for token_id in ids]


@given(hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-50, 50)))
def test_log_softmax_is_the_logarithm_of_probabilities(logits):
    logprobs = log_softmax(logits)
    np.testing.assert_allclose(np.exp(logprobs).sum(), 1, rtol=1e-12)
    np.testing.assert_allclose(logprobs - logprobs[0], logits - logits[0], atol=1e-9)


@given(hnp.arrays(np.float64, 12, elements=st.sampled_from([-3.0, -2.0, -1.0])), st.integers(0, 15))
def test_the_likeliest_tokens_come_in_order_and_of_equal_ones_the_lowest_ids(logprobs, count):
    record = token_logprobs(logprobs, 4, count)
    expected = np.lexsort((np.arange(12), -logprobs))[:count]
    assert [token_id for token_id, _ in record.top] == expected.tolist()
    assert record.logprob == logprobs[4]


def test_chat_shape(tokenizer):
    ids = RECORDS[1]["ids"]
    shape = chat_logprobs(plain(ids), tokenizer)
    assert set(shape) == {"content"}
    assert b"".join(bytes(entry["bytes"]) for entry in shape["content"]).decode("utf-8", "replace") == (
        tokenizer.decode(ids, skip_special_tokens=False)
    )
    first = shape["content"][0]
    assert set(first) == {"token", "logprob", "bytes", "top_logprobs"}
    assert [set(entry) for entry in first["top_logprobs"]] == [{"token", "logprob", "bytes"}] * 2
    without_top = chat_logprobs([TokenLogprobs(ids[0], -1.0, ())], tokenizer)
    assert without_top["content"][0]["top_logprobs"] == []


def test_completion_shape(tokenizer):
    ids = tokenizer.encode("The cat", add_special_tokens=False)
    shape = completion_logprobs([None, *plain(ids[1:])], ids, tokenizer, offset=3)
    assert "".join(shape["tokens"]) == "The cat"
    assert shape["token_logprobs"] == [None] + [-1.0] * (len(ids) - 1)
    assert shape["top_logprobs"][0] is None
    assert all(len(top) <= 2 for top in shape["top_logprobs"][1:])
    starts = [len(tokenizer.decode(ids[:place])) for place in range(len(ids))]
    assert shape["text_offset"] == [3 + start for start in starts]


def test_tokens_that_are_no_characters_are_shown_as_bytes(tokenizer):
    parts = tokenizer.encode("打", add_special_tokens=False)
    texts = [token_text(token_id, tokenizer) for token_id in parts]
    if len(parts) > 1:
        assert all(text.startswith("bytes:\\x") for text in texts)
    assert token_text(tokenizer.eos_id, tokenizer) != ""
