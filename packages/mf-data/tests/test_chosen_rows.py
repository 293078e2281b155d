import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_data.rows.chosen import LaterRows, SpreadRows, at_most
from mf_data.rows.row_order import FileGroups
from mf_data.rows.token_rows import TokenRows


def rows_of(count: int) -> TokenRows:
    return TokenRows(np.arange(4 * count, dtype=np.int32), 4, pad_id=0)


def test_rows_are_spread_over_all_of_the_data():
    rows = at_most(rows_of(5), 2)
    assert len(rows) == 2
    assert rows[np.arange(2)]["input_ids"].tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]]
    assert rows.padding == {"input_ids": 0}


@pytest.mark.parametrize("count", [None, 5, 99])
def test_all_rows_are_used_where_there_are_no_more(count):
    rows = rows_of(5)
    assert at_most(rows, count) is rows


def test_spread_rows_have_a_fingerprint_of_their_own():
    rows = rows_of(9)
    assert len({rows.fingerprint, SpreadRows(rows, 3).fingerprint, SpreadRows(rows, 4).fingerprint}) == 3


def test_the_first_rows_are_left_out():
    later = LaterRows(rows_of(5), 2)
    assert len(later) == 3
    assert later[np.array([2, 0])]["input_ids"][:, 0].tolist() == [16, 8]
    assert len({later.fingerprint, rows_of(5).fingerprint, LaterRows(rows_of(5), 3).fingerprint}) == 3


class Filed(TokenRows):
    """Rows of several files."""

    groups: FileGroups


@pytest.mark.property
@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(sum), data=st.data())
def test_rows_that_are_kept_stay_in_their_files(counts, data):
    count = data.draw(st.integers(1, sum(counts)))
    rows = Filed(np.repeat(np.arange(len(counts), dtype=np.int32), np.array(counts) * 4), 4, pad_id=0)
    rows.groups = FileGroups(counts)
    spread = SpreadRows(rows, count)
    files = spread[np.arange(count)]["input_ids"][:, 0]
    within = spread.groups.order_within(3, 1)(np.arange(count))
    assert files[within].tolist() == files.tolist()
    assert sorted(within.tolist()) == list(range(count))
    assert SpreadRows(rows_of(3), 2).groups is None
