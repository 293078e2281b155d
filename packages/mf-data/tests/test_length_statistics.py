from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_data.texts.length_statistics import bars, length_statistics


def test_numbers_by_hand():
    found = length_statistics(np.array([0, 1, 2, 3, 9, 4, 5, 3], np.int32))
    assert found["histogram"] == [[0, 0, 1], [1, 1, 1], [2, 3, 3], [4, 7, 2], [8, 15, 1]]
    assert {name: found[name] for name in ("min", "median", "mean", "p95", "max")} == {
        "min": 0, "median": 3.0, "mean": 3.4, "p95": 9, "max": 9,
    }  # fmt: skip
    assert length_statistics(np.zeros(0, np.int64)) == {}


@pytest.mark.property
@given(lengths=st.lists(st.integers(0, 2**40), min_size=1, max_size=50))
def test_every_text_stands_in_one_bin(lengths):
    histogram = length_statistics(np.array(lengths, np.int64))["histogram"]
    for first, last, count in histogram:
        assert sum(first <= length <= last for length in lengths) == count
    assert sum(count for _, _, count in histogram) == len(lengths)
    for (_, last, _), (first, _, _) in pairwise(histogram):
        assert first == last + 1


def test_bars():
    assert bars([[0, 0, 1], [1, 1, 0], [2, 3, 80]]) == [f"  0  1 {'#'}", "  1  0", f"2-3 80 {'#' * 40}"]
