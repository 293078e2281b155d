import numpy as np
import pytest

from mf_data.rows.token_rows import TokenRows


def rows_of(count: int, **options) -> TokenRows:
    return TokenRows(np.arange(count, dtype=np.int32), 4, **{"pad_id": 0, **options})


def test_rows_are_disjoint_windows_and_the_last_part_is_dropped():
    rows = rows_of(11)
    assert len(rows) == 2
    assert rows.dropped_tokens == 3
    assert rows[np.array([1, 0, 1])]["input_ids"].tolist() == [[4, 5, 6, 7], [0, 1, 2, 3], [4, 5, 6, 7]]
    assert rows[np.array([0])]["input_ids"].dtype == np.int32


def test_no_row_is_a_valid_data_set():
    assert len(rows_of(3)) == 0


@pytest.mark.parametrize("count", [16, 20])
def test_fingerprint_tells_whether_rows_are_equal(count):
    assert rows_of(count).fingerprint == rows_of(count + 3).fingerprint
    assert rows_of(count).fingerprint != rows_of(count + 4).fingerprint
    changed = np.arange(count, dtype=np.int32)
    changed[-1] += 1
    assert TokenRows(changed, 4, pad_id=0).fingerprint != rows_of(count).fingerprint
    assert TokenRows(np.arange(16, dtype=np.int32), 8, pad_id=0).fingerprint != rows_of(16).fingerprint


def test_a_batch_is_a_copy():
    rows = rows_of(8)
    rows[np.array([0])]["input_ids"][:] = -1
    assert rows[np.array([0])]["input_ids"].tolist() == [[0, 1, 2, 3]]
