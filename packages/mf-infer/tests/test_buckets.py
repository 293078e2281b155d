import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_infer.engine.buckets import bucket


@pytest.mark.parametrize(
    ("size", "smallest", "limit", "expected"),
    [
        (0, 16, 256, 16),
        (16, 16, 256, 16),
        (17, 16, 256, 32),
        (200, 16, 256, 256),
        (90, 16, 100, 100),
        (5, 128, 100, 100),
    ],
)
def test_rounds_up_to_a_doubled_size_or_the_limit(size, smallest, limit, expected):
    assert bucket(size, smallest, limit) == expected


@given(st.integers(1, 64), st.integers(1, 5000), st.data())
def test_holds_the_size_with_less_than_double_of_it(smallest, limit, data):
    size = data.draw(st.integers(0, limit))
    found = bucket(size, smallest, limit)
    assert size <= found <= limit
    assert found <= smallest or found < 2 * size or found == limit


def test_a_size_beyond_the_limit_is_a_defect():
    with pytest.raises(AssertionError, match="11 does not fit in 10"):
        bucket(11, 1, 10)
