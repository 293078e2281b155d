from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config.problems import UserError
from mf_data.rows.blending import BlendedRows, exact_counts, interleave
from mf_data.rows.token_rows import TokenRows

COUNTS = st.lists(st.integers(0, 40), min_size=1, max_size=6).filter(sum)


def rows_of(first: int, count: int, width: int = 2) -> TokenRows:
    return TokenRows(np.repeat(np.arange(first, first + count, dtype=np.int32), width), width, pad_id=0)


def test_counts_are_exact_by_the_largest_remainders():
    # Shares of 10: 1.25, 3.75, 5 and of 100: 33.3 each.
    assert exact_counts([1, 3, 4], 10) == [1, 4, 5]
    assert exact_counts([1, 1, 1], 100) == [34, 33, 33]
    # In binary fractions 0.1 + 0.2 exceeds 0.3; the written digits do not.
    assert exact_counts([0.1, 0.2, 0.7], 10) == [1, 2, 7]
    assert exact_counts([0, 1], 7) == [0, 7]


@pytest.mark.property
@given(
    weights=st.lists(st.floats(0, 1e6), min_size=1, max_size=8).filter(lambda w: sum(w) > 1e-6),
    total=st.integers(0, 10**6),
)
def test_counts_sum_up_and_are_near_their_shares(weights, total):
    counts = exact_counts(weights, total)
    assert sum(counts) == total
    assert all(abs(n - total * w / sum(weights)) < 1 + 1e-6 for n, w in zip(counts, weights, strict=True))


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1], [float("inf")], [float("nan")]])
def test_weights_that_divide_nothing_are_refused(weights):
    with pytest.raises(UserError, match="divide nothing"):
        exact_counts(weights, 10)


@pytest.mark.property
@given(counts=COUNTS)
def test_each_row_comes_once_and_each_source_keeps_its_order(counts):
    sources, numbers = interleave(np.arange(sum(counts)), counts)
    for source, count in enumerate(counts):
        assert numbers[sources == source].tolist() == list(range(count))


@pytest.mark.property
@given(counts=COUNTS)
def test_every_beginning_of_a_mixture_has_its_shares(counts):
    sources, _ = interleave(np.arange(sum(counts)), counts)
    for end in range(1, sum(counts) + 1):
        for source, count in enumerate(counts):
            share = end * count / sum(counts)
            # Each of the divisions on the way to a source rounds by less than one.
            assert abs((sources[:end] == source).sum() - share) < len(counts)


def test_a_place_does_not_depend_on_what_else_is_asked():
    counts = [5, 0, 11, 3]
    every = interleave(np.arange(19), counts)
    for place in range(19):
        alone = interleave(np.array([place]), counts)
        assert (alone[0][0], alone[1][0]) == (every[0][place], every[1][place])


def test_rows_are_mixed_in_exact_numbers_and_repeated_where_there_are_too_few():
    blend = BlendedRows([rows_of(100, 3), rows_of(200, 50)], [7, 14])
    found = Counter(blend[np.arange(21)]["input_ids"][:, 0].tolist())
    assert found == {100: 3, 101: 2, 102: 2} | dict.fromkeys(range(200, 214), 1)
    order = np.array([20, 0, 7, 0])
    assert blend[order]["input_ids"].tolist() == blend[np.arange(21)]["input_ids"][order].tolist()


def test_mixtures_have_fingerprints_of_their_own():
    one, two = rows_of(1, 5), rows_of(9, 5)
    blends = [BlendedRows([one, two], [2, 3]), BlendedRows([one, two], [3, 2]), BlendedRows([two, one], [2, 3])]
    assert len({blend.fingerprint for blend in blends}) == 3
    assert BlendedRows([rows_of(1, 5), two], [2, 3]).fingerprint == blends[0].fingerprint


def test_rows_that_do_not_fit_each_other_are_refused():
    with pytest.raises(UserError, match="rows of 2 and 3 values in the column input_ids can't be mixed"):
        BlendedRows([rows_of(1, 5), rows_of(1, 5, 3)], [2, 2])[np.arange(4)]
    with pytest.raises(UserError, match="too large"):
        BlendedRows([rows_of(1, 5)], [2**31])
