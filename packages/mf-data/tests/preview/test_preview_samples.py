"""Rows decoded for people: packed conversations, text with characters of several tokens, and padding."""

import numpy as np
import pytest

from mf_data.datasets.causal_language_model import CausalLanguageModelDataset
from mf_data.loaders.common import CommonDataLoader
from mf_data.opening import open_dataset
from mf_data.preview.page import as_page
from mf_data.preview.samples import samples
from mf_data.preview.terminal import as_text
from mf_data.rows.data_set import ColumnRows

IGNORED = -100


def handler(section_of, name):
    return section_of("data_handler", f"{{type: {name}}}")


@pytest.fixture
def packed(tmp_path, bpe_chat, section_of):
    """Two conversations in one row."""
    path = tmp_path / "chats.jsonl"
    path.write_text(
        '{"instruction": "Say hello", "input": "", "output": "h\u00e9llo \U0001f600"}\n'
        '{"instruction": "And?", "input": "", "output": "<b>bye</b>"}\n'
    )
    loader = CommonDataLoader(path=str(path), handler=handler(section_of, "AlpacaInstructDataHandler"))
    rows = open_dataset(loader, CausalLanguageModelDataset(packing="first_fit"), bpe_chat, seq_length=250)
    (sample,) = samples(rows, np.array([0]), bpe_chat)
    return sample


def test_the_loss_counts_what_the_assistant_says(packed):
    counted = "".join(token.text for token in packed.tokens if token.counted)
    assert counted == "h\u00e9llo \U0001f600<|end|><b>bye</b><|end|>"
    assert packed.documents == 2
    assert packed.padding == 251 - len(packed.tokens)


def test_a_character_stands_in_the_token_that_completes_it(packed):
    assert "\ufffd" not in "".join(token.text for token in packed.tokens)
    assert [token.text for token in packed.tokens].count("\U0001f600") == 1


def test_rows_in_plain_text_and_in_colours(packed):
    plain = as_text(packed, colour=False)
    assert plain.startswith(packed.summary)
    assert plain.count("--- document ") == 2
    assert "\u00abh\u00e9llo \U0001f600<|end|>\u00bb" in plain
    assert "\x1b" not in plain
    assert "\x1b[32mh\u00e9llo \U0001f600<|end|>\x1b[0m" in as_text(packed, colour=True)


def test_the_page_shows_every_token_and_runs_no_markup_of_the_text(packed):
    page = as_page("rows of <run>.yaml", [packed])
    assert page.count("<pre>") == 2
    assert page.count("<span") == len(packed.tokens) + 1
    assert page.count('<span class="c" title=') == packed.counted
    assert "<b>" not in page
    assert "<run>" not in page
    assert "prefers-color-scheme: dark" in page
    assert "http" not in page
    assert "src=" not in page


def test_padding_that_looks_like_the_end_token_is_told_from_it(bpe_chat):
    end = bpe_chat.eos_id
    ids = np.array([[50, 51, end, end, end]], np.int32)
    labels = np.array([[50, 51, end, IGNORED, IGNORED]], np.int32)
    rows = ColumnRows({"input_ids": ids, "labels": labels}, {"input_ids": end, "labels": IGNORED})
    (sample,) = samples(rows, np.array([0]), bpe_chat)
    assert [token.token_id for token in sample.tokens] == [50, 51, end]
    assert [token.counted for token in sample.tokens] == [False, True, True]
    assert sample.padding == 2


def test_control_characters_are_written_out(bpe_chat):
    ids = np.array([bpe_chat.encode("a\x1b[2Jb\n", add_special_tokens=False)], np.int32)
    (sample,) = samples(ColumnRows({"input_ids": ids}, {"input_ids": 0}), np.array([0]), bpe_chat)
    assert "\x1b" not in as_text(sample, colour=False)
    assert r"\x1b" in as_text(sample, colour=False)
