"""Windows over whole documents, against a plain loop over tokens."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config.problems import UserError
from mf_data.datasets.sliding_window import SlidingWindowDataset
from mf_data.loaders.text import TextDataLoader
from mf_data.opening import open_dataset
from mf_data.rows.data_set import IGNORED
from mf_data.rows.window_rows import WindowRows
from mf_data.tokenizers.base import token_bytes

PAD = 99


def counted_with_context(rows: WindowRows) -> list[tuple[int, list[int]]]:
    """Each token that counts, with the ids of its row before it."""
    columns = rows[np.arange(len(rows))]
    found = []
    for ids, labels in zip(columns["input_ids"].tolist(), columns["labels"].tolist(), strict=True):
        found += [(label, ids[:place]) for place, label in enumerate(labels) if label != IGNORED]
    return found


@given(
    lengths=st.lists(st.integers(0, 23), min_size=1, max_size=4),
    window=st.integers(1, 8),
    stride=st.integers(1, 8),
    spare=st.integers(1, 3),
)
def test_each_token_counts_once_with_as_much_before_it_as_windows_leave(lengths, window, stride, spare):
    stride = min(stride, window)
    documents = [[100 * number + place for place in range(length)] for number, length in enumerate(lengths)]
    rows = WindowRows(documents, window + spare, window, stride, PAD)
    expected = []
    for document in documents:
        for place in range(1, len(document)):
            # The first window that reaches as far as the token's predecessor.
            begin = 0
            while begin + window < place:
                begin += stride
            expected.append((document[place], document[begin:place]))
    assert counted_with_context(rows) == expected


def test_rows_are_filled_up_behind_the_window():
    rows = WindowRows([[5, 6, 7, 8]], 4, 2, 1, PAD)
    columns = rows[np.array([1, 0])]
    assert columns["input_ids"].tolist() == [[6, 7, 8, PAD], [5, 6, 7, PAD]]
    assert columns["labels"].tolist() == [[IGNORED, IGNORED, 8, IGNORED], [IGNORED, 6, 7, IGNORED]]
    assert rows.fingerprint != WindowRows([[5, 6, 7, 8]], 4, 2, 2, PAD).fingerprint


def test_all_bytes_of_all_documents_count(tmp_path, bpe_chat):
    texts = ["The quick brown fox, naïvely.\n", "Zwei Sätze. Und noch einer: 12345!"]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(text)
    loader = TextDataLoader(dataset_dir=str(tmp_path))
    rows = open_dataset(loader, SlidingWindowDataset(window=5, stride=2), bpe_chat, 7)
    columns = rows[np.arange(len(rows))]
    assert columns["input_ids"].shape[1] == 8
    labels = columns["labels"]
    assert token_bytes(bpe_chat)[labels[labels != IGNORED]].sum() == sum(len(text.encode()) for text in texts)


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (SlidingWindowDataset(window=9), r"window: 9 is too long. Allowed: up to seq_length 8"),
        (SlidingWindowDataset(window=4, stride=5), r"stride: 5 would skip tokens. Allowed: up to the window of 4"),
    ],
)
def test_windows_that_do_not_fit_are_refused(tmp_path, bpe_chat, task, message):
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(UserError, match=message):
        open_dataset(TextDataLoader(dataset_dir=str(tmp_path)), task, bpe_chat, 8)


def test_text_without_a_token_is_refused(tmp_path, bpe_chat):
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(UserError, match="the text has no tokens"):
        open_dataset(TextDataLoader(dataset_dir=str(tmp_path)), SlidingWindowDataset(), bpe_chat, 8)
