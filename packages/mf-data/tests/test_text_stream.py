import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_data.tokenizers.stream import TextStream


def pieces(tokenizer, ids, **options) -> list[str]:
    stream = TextStream(tokenizer, **options)
    return [*(stream.push(token_id) for token_id in ids), stream.finish()]


def test_each_character_comes_with_the_token_that_completes_it(bpe_chat, data):
    for record in json.loads((data / "stream_sequences.json").read_text(encoding="utf-8")):
        assert pieces(bpe_chat, record["ids"]) == [*record["chunks_one_token_each"], ""]
        assert "".join(record["chunks_one_token_each"]) == record["text"]


@pytest.mark.property
@given(ids=st.lists(st.integers(0, 959), max_size=40), skip=st.booleans())
def test_the_pieces_join_to_the_decoded_text(bpe_chat, ids, skip):
    joined = "".join(pieces(bpe_chat, ids, skip_special_tokens=skip))
    assert joined == bpe_chat.decode(ids, skip_special_tokens=skip)


def test_an_unfinished_character_is_replaced_at_the_end_only(bpe_chat):
    first_bytes_of_emoji = [177, 258, 251]
    assert pieces(bpe_chat, [69, *first_bytes_of_emoji]) == ["a", "", "", "", "\ufffd"]


def test_bytes_that_a_next_one_proves_wrong_are_replaced_at_once(bpe_chat):
    assert pieces(bpe_chat, [177, 258, 69]) == ["", "", "\ufffda", ""]


def test_special_tokens_are_silent_or_written_out(bpe_chat):
    assert pieces(bpe_chat, [69, 4]) == ["a", "", ""]
    assert pieces(bpe_chat, [69, 4], skip_special_tokens=False) == ["a", "<|end|>", ""]
