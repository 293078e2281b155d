import json

import numpy as np
import pytest

from mf_config.problems import UserError
from mf_data.datasets.keyword_gen import KeyWordGenDataset, encode_pair
from mf_data.loaders.adgen import ADGenDataLoader
from mf_data.opening import open_dataset
from mf_data.rows.settings import RowSettings

PAIRS = [("hello", "fine"), ("a longer question about words", "an answer that is longer than the row lets it be")]


@pytest.fixture
def loader(tmp_path):
    def make(version: int) -> ADGenDataLoader:
        path = tmp_path / "a.json"
        path.write_text("".join(json.dumps({"content": p, "summary": a}) + "\n" for p, a in PAIRS))
        return ADGenDataLoader(dataset_dir=str(path), version=version)

    return make


def open_rows(loader, tokenizer, source, target, seq_length):
    settings = RowSettings(max_source_length=source, max_target_length=target)
    return open_dataset(loader, KeyWordGenDataset(), tokenizer, seq_length, settings=settings)


def as_mindformers(columns, row: int) -> tuple[list[int], list[int]]:
    """The row as a model without a shift of its own takes it: ids without the last place, labels one place ahead."""
    return columns["input_ids"][row, :-1].tolist(), columns["labels"][row, 1:].tolist()


def test_rows_of_glm4_are_prompt_answer_and_end(loader, bpe_chat):
    source, target, length = 8, 6, 15
    rows = open_rows(loader(3), bpe_chat, source, target, length)
    columns = rows[np.arange(2)]
    for row, (prompt, answer) in enumerate(PAIRS):
        # The rule of MindFormers, spelt out: labels = ignore * (context - 1) + answer + end, then padding.
        context = bpe_chat.encode(prompt)[:source]
        said = [*bpe_chat.encode(answer, add_special_tokens=False)[:target], bpe_chat.eos_id]
        ids, labels = context + said, [-100] * (len(context) - 1) + said
        found = as_mindformers(columns, row)
        assert found[0] == ids + [bpe_chat.pad_id] * (length - len(ids))
        assert found[1] == labels + [-100] * (length - len(labels))


def test_rows_of_glm2_put_the_question_into_a_round(loader, bpe_chat):
    rows = open_rows(loader(2), bpe_chat, 40, 6, 47)
    ids, labels = as_mindformers(rows[np.arange(1)], 0)
    said = [*bpe_chat.encode("fine", add_special_tokens=False), bpe_chat.eos_id]
    context = bpe_chat.encode("[Round 1]\n\n问\uff1ahello\n\n答\uff1a")
    assert ids[: len(context) + len(said)] == context + said
    assert labels[len(context) - 1 :][: len(said)] == said
    assert set(labels) - {-100} == set(said)


def test_a_question_that_is_too_long_keeps_the_cue_behind_it(bpe_chat):
    around = ("[Round 1]\n\n问\uff1a", "\n\n答\uff1a")
    for length in range(24, 60):
        ids, labels = encode_pair("你好 words " * 30, "fine", bpe_chat, (length, 9), around, 4)
        prompt = ids[: labels.index(next(label for label in labels if label != -100))]
        text = bpe_chat.decode(prompt)
        assert length - 8 <= len(prompt) <= length
        assert text.startswith(around[0] + "你")
        assert text.endswith(around[1])
        assert "\ufffd" not in text
    with pytest.raises(UserError, match=r"max_source_length: 5 is too small. Allowed: from \d+"):
        encode_pair("hello", "fine", bpe_chat, (5, 9), around, 4)


def test_the_end_token_counts_where_it_is_the_padding_too(loader, data, tmp_path):
    from mf_data.tokenizers.loading import load_tokenizer

    (tmp_path / "tokenizer.json").write_bytes((data / "bpe_chat" / "tokenizer.json").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|end|>", "pad_token": "<|end|>"}')
    columns = open_rows(loader(3), load_tokenizer(tmp_path), 8, 6, 15)[np.arange(1)]
    assert (columns["labels"][0] == 4).sum() == 1
    assert (columns["input_ids"][0] == 4).sum() > 1


@pytest.mark.parametrize(
    ("version", "lengths", "message"),
    [
        (1, (8, 6, 15), "version: 1 needs positions in two dimensions.* Allowed: 2, 3"),
        (3, (None, 6, 15), "max_source_length: is missing"),
        (3, (8, None, 15), "max_target_length: is missing"),
        (3, (8, 6, 14), r"8 \+ max_target_length 6 \+ 1 exceed seq_length 14. Allowed: a seq_length from 15"),
    ],
)
def test_rows_that_can_not_be_made_are_refused(loader, bpe_chat, version, lengths, message):
    with pytest.raises(UserError, match=message):
        open_rows(loader(version), bpe_chat, *lengths)
