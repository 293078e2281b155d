"""Rows divided among context-parallel ranks: complete, balanced, and put together again in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config.problems import UserError
from mf_parallel.row_places import RowDivision


def test_two_rings_pair_front_and_back_by_hand():
    division = RowDivision(2, 1)
    assert division.places(8, 0) == [0, 1, 6, 7]
    assert division.places(8, 1) == [2, 3, 4, 5]


def test_ranks_that_exchange_heads_have_neighbouring_tokens():
    assert [RowDivision(1, 2).places(6, rank) for rank in range(2)] == [[0, 1, 2], [3, 4, 5]]
    assert [RowDivision(2, 2).places(8, rank) for rank in range(4)] == [[0, 1], [6, 7], [2, 3], [4, 5]]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_every_token_is_on_one_rank_and_the_joined_row_is_the_row(rings: int, ranks: int, size: int):
    division, length = RowDivision(rings, ranks), 2 * rings * ranks * size
    joined = [place for rank in range(rings * ranks) for place in division.places(length, rank)]
    assert sorted(joined) == list(range(length))
    chunk = length // len(division.chunk_order)
    restored = [joined[at * chunk + offset] for at in division.chunk_order for offset in range(chunk)]
    assert restored == list(range(length))


@given(st.integers(1, 5), st.integers(1, 4))
def test_all_rings_see_equally_many_keys_under_a_causal_mask(rings: int, size: int):
    division, length = RowDivision(rings), 2 * rings * size
    work = {sum(place + 1 for place in division.places(length, ring)) for ring in range(rings)}
    assert len(work) == 1


def test_rows_that_cannot_be_divided_are_refused():
    with pytest.raises(UserError, match=r"seq_length: 10 tokens .* 4 chunks for 2 groups of 1 ranks. .*multiples of 4"):
        RowDivision(2).places(10, 0)
