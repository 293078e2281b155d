import numpy as np

from mf_data.rows.data_set import ColumnRows, digest, padded


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
