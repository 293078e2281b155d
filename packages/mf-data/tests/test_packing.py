import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_data.rows.document_masks import attention_mask
from mf_data.rows.packing import METHODS, pack_by_length, pack_first_fit, pack_none
from mf_data.rows.sample_rows import SampleRows
from mf_data.rows.samples import Samples, fit

LENGTHS = st.lists(st.integers(1, 16), max_size=60)
TEXTS = st.lists(st.lists(st.tuples(st.integers(0, 99), st.booleans()), min_size=1, max_size=11), max_size=12)


def samples_of(texts) -> Samples:
    """Texts of (id, whether its label counts)."""
    return Samples.of(([i for i, _ in text], [i if counts else -100 for i, counts in text]) for text in texts)


def rows_of(packing) -> list[list[int]]:
    return [packing.texts(row).tolist() for row in range(len(packing.ends))]


@pytest.mark.property
@pytest.mark.parametrize("method", METHODS)
@given(lengths=LENGTHS)
def test_every_text_is_in_one_row_and_no_row_overflows(method, lengths):
    packing = METHODS[method](np.array(lengths, int), 16)
    rows = rows_of(packing)
    assert sorted(text for row in rows for text in row) == list(range(len(lengths)))
    assert all(0 < sum(lengths[text] for text in row) <= 16 for row in rows)
    if rows:
        assert packing.utilization == pytest.approx(sum(lengths) / (16 * len(rows)))


@pytest.mark.property
@given(lengths=LENGTHS)
def test_first_fit_is_that_of_a_search_from_the_first_row(lengths):
    expected: list[list[int]] = []
    for text, length in enumerate(lengths):
        for row in expected:
            if sum(lengths[other] for other in row) + length <= 16:
                row.append(text)
                break
        else:
            expected.append([text])
    assert rows_of(pack_first_fit(np.array(lengths, int), 16)) == expected


@pytest.mark.property
@given(lengths=LENGTHS)
def test_by_length_takes_the_longest_that_fits(lengths):
    left = sorted(range(len(lengths)), key=lambda text: (-lengths[text], text))
    expected = []
    while left:
        row, room = [], 16
        for text in list(left):
            if lengths[text] <= room:
                row.append(text)
                room -= lengths[text]
                left.remove(text)
        expected.append(sorted(lengths[text] for text in row))
    found = [sorted(lengths[text] for text in row) for row in rows_of(pack_by_length(np.array(lengths, int), 16))]
    assert sorted(found) == sorted(expected)


def test_rows_of_texts_that_complete_each_other_are_full():
    lengths = np.array([1, 15, 2, 14, 8, 8, 3, 13] * 50)
    assert pack_by_length(lengths, 16).utilization == 1
    assert pack_first_fit(lengths, 16).utilization > 0.9
    assert pack_none(lengths, 16).utilization == 0.5


@pytest.mark.property
@given(texts=TEXTS, width=st.integers(1, 12), rule=st.sampled_from(["cut", "split", "drop"]))
def test_texts_that_are_too_long_follow_the_rule(texts, width, rule):
    pieces = {
        "cut": [text[:width] for text in texts],
        "split": [text[i : i + width] for text in texts for i in range(0, len(text), width)],
        "drop": [text for text in texts if len(text) <= width],
    }[rule]
    useful = [piece for piece in pieces if any(counts for _, counts in piece[1:])]
    fitted = fit(samples_of(texts), width, rule)
    expected = samples_of(useful)
    assert fitted.samples.ids.tolist() == expected.ids.tolist()
    assert fitted.samples.labels.tolist() == expected.labels.tolist()
    assert fitted.samples.starts.tolist() == expected.starts.tolist()
    assert fitted.too_long == sum(len(text) > width for text in texts)
    assert fitted.without_target == len(pieces) - len(useful)


@pytest.mark.property
@pytest.mark.parametrize("method", METHODS)
@given(texts=TEXTS)
def test_packed_rows_hold_the_texts_and_nothing_leads_from_one_to_another(method, texts):
    width = 11
    samples = samples_of(texts)
    rows = SampleRows(samples, METHODS[method](samples.lengths, width), width, pad_id=7)
    columns = rows[np.arange(len(rows))]
    mask = attention_mask(columns["segment_ids"])
    for row, numbers in enumerate(rows_of(rows.packing)):
        end = 0
        for number in numbers:
            text, start, end = texts[number], end, end + len(texts[number])
            assert columns["input_ids"][row, start:end].tolist() == [i for i, _ in text]
            labels = [-100, *(i if counts else -100 for i, counts in text[1:])]
            assert columns["labels"][row, start:end].tolist() == labels
            assert columns["position_ids"][row, start:end].tolist() == list(range(len(text)))
            assert not mask[row, start:end, :start].any()
            assert not mask[row, end:, start:end].any()
        assert columns["input_ids"][row, end:].tolist() == [7] * (width - end)
        assert columns["labels"][row, end:].tolist() == [-100] * (width - end)


@pytest.mark.golden
def test_an_end_token_counts_where_padding_looks_like_it(data):
    lines = (data / "packing" / "pad_rows.jsonl").read_text().splitlines()
    expected = json.loads((data / "packing" / "pad_expected.json").read_text())
    texts = [json.loads(line)["input_ids"] for line in lines]
    samples = Samples.of((text, text) for text in texts)
    rows = SampleRows(samples, pack_none(samples.lengths, 8), 8, expected["pad_token_id"])
    columns = rows[np.arange(2)]
    assert columns["input_ids"].tolist() == expected["input_ids"]
    # The first label stands before everything that could foretell it.
    assert columns["labels"][:, 1:].tolist() == [row[1:] for row in expected["labels_unshifted"]]
    assert (columns["labels"][:, 1:] != -100).sum() == 11
    assert columns["segment_ids"].tolist() == [[0] * 8, [0] * 5 + [1] * 3]


def test_rows_are_told_apart_by_texts_labels_and_packing():
    texts = [[(1, True), (2, True)], [(3, True)]]
    other = [[(1, True), (2, False)], [(3, True)]]
    found = set()
    for samples in map(samples_of, (texts, other)):
        for method in (pack_none, pack_first_fit):
            found.add(SampleRows(samples, method(samples.lengths, 4), 4, 0).fingerprint)
    assert len(found) == 4
