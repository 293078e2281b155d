import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_data.rows.document_masks import (
    attention_mask,
    cumulative_lengths,
    labels_within,
    positions_in,
    segments_by_end,
)
from mf_data.rows.document_rows import DocumentRows
from mf_data.rows.token_rows import TokenRows

ROWS = st.integers(1, 4).flatmap(
    lambda rows: st.lists(st.lists(st.integers(0, 3), min_size=7, max_size=7), min_size=rows, max_size=rows)
)


@pytest.mark.golden
def test_documents_of_a_packed_row_are_kept_apart(data):
    case = json.loads((data / "packing" / "packed.json").read_text())
    expected = json.loads((data / "packing" / "expected.json").read_text())
    rows = DocumentRows(TokenRows(np.array(case["input_ids"], np.int32), 25, pad_id=0), case["eod_token_id"])
    columns = rows[np.array([0])]
    assert columns["position_ids"][0].tolist() == expected["position_ids"]
    assert columns["segment_ids"][0].tolist() == expected["segment_ids"]
    assert [*columns["labels"][0, 1:].tolist(), -100] == expected["targets_shifted"]


@pytest.mark.property
@given(rows=ROWS)
def test_masks_are_those_of_a_loop_over_tokens(rows):
    ids = np.array(rows, np.int32)
    segments = segments_by_end(ids, 3)
    mask, positions, labels = attention_mask(segments), positions_in(segments), labels_within(ids, segments)
    for row, tokens in enumerate(rows):
        start = 0
        for here, token in enumerate(tokens):
            if here and tokens[here - 1] == 3:
                start = here
            assert positions[row, here] == here - start
            assert labels[row, here] == (-100 if here == start else token)
            assert mask[row, here].tolist() == [start <= there <= here for there in range(len(tokens))]


@pytest.mark.property
@given(rows=ROWS)
def test_cumulative_lengths_end_every_document_and_row(rows):
    ids = np.array(rows, np.int32)
    ends = {(row, 7) for row in range(len(rows))}
    ends |= {(r, t + 1) for r, tokens in enumerate(rows) for t, token in enumerate(tokens) if token == 3}
    found = cumulative_lengths(segments_by_end(ids, 3))
    assert found.tolist() == sorted({0} | {row * 7 + token for row, token in ends})


def test_the_mask_of_a_reset_is_that_of_mindformers():
    # Behind an end token at index i, mask[i + 1:, :i + 1] is 0 and positions begin anew.
    segments = segments_by_end(np.array([[5, 2, 6, 7]]), 2)
    assert attention_mask(segments)[0].astype(int).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]


def test_labels_that_are_there_stay_where_documents_do_not_begin():
    columns = TokenRows(np.array([5, 2, 6, 7], np.int32), 4, pad_id=0)
    rows = DocumentRows(columns, 2)
    assert rows[np.array([0])]["labels"].tolist() == [[-100, 2, -100, 7]]
    assert rows.fingerprint != columns.fingerprint
    assert len(rows) == 1
