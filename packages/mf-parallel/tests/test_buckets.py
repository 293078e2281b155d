"""Buckets of gradients."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_parallel.buckets import plan_buckets


def test_neighbours_share_a_bucket_up_to_the_limit():
    assert plan_buckets([3, 3, 4, 11, 1], 10) == [[0, 1, 2], [3], [4]]


def test_nothing_needs_no_bucket():
    assert plan_buckets([], 10) == []


@pytest.mark.property
@given(st.lists(st.integers(0, 30)), st.integers(1, 20))
def test_each_tensor_once_in_order_and_no_bucket_too_full(sizes: list[int], limit: int):
    buckets = plan_buckets(sizes, limit)
    assert [position for bucket in buckets for position in bucket] == list(range(len(sizes)))
    for bucket in buckets:
        assert len(bucket) == 1 or sum(sizes[position] for position in bucket) <= limit
    for before, after in pairwise(buckets):
        assert sum(sizes[position] for position in before) + sizes[after[0]] > limit
