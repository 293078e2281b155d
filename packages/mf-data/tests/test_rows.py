import numpy as np
import pytest

from mf_data.rows import ColumnRows, SpreadRows, at_most, digest, padded
from mf_data.token_rows import TokenRows


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


def test_sequences_are_padded_on_the_right():
    found = padded([np.array([1, 2, 3]), np.array([], int), np.array([4])], 3, -7)
    assert found.tolist() == [[1, 2, 3], [-7, -7, -7], [4, -7, -7]]
    assert found.dtype == np.int32
    assert padded([], 3, 0).shape == (0, 3)


def test_columns_are_read_by_row_and_told_apart():
    columns = {"a": np.array([[1], [2]], np.int32), "b": np.array([[3], [4]], np.int32)}
    rows = ColumnRows(columns, {"a": 0, "b": -100})
    assert len(rows) == 2
    assert {name: part.tolist() for name, part in rows[np.array([1])].items()} == {"a": [[2]], "b": [[4]]}
    swapped = ColumnRows({"a": columns["b"], "b": columns["a"]}, rows.padding)
    assert swapped.fingerprint != rows.fingerprint


def test_parts_of_a_digest_do_not_run_into_each_other():
    assert digest("ab", "c") != digest("a", "bc")
    assert digest(np.array([1, 2], np.int32)) != digest(np.array([1, 3], np.int32))
