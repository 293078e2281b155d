"""The checksum against values of RFC 3720 and against division bit by bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_data.prepared.crc32c import crc32c, masked_crc32c


def bytes_of(content: bytes) -> np.ndarray:
    return np.frombuffer(content, np.uint8)


@pytest.mark.golden
@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
        (b"123456789", 0xE3069283),
        (b"", 0),
    ],
)
def test_published_values(content, wanted):
    assert crc32c(bytes_of(content)) == wanted


@pytest.mark.property
@given(content=st.binary(max_size=600) | st.integers(250, 262).flatmap(lambda n: st.binary(min_size=n, max_size=n)))
def test_checksum_is_the_remainder_of_a_division(content):
    state = 0xFFFFFFFF
    for byte in content:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    assert crc32c(bytes_of(content)) == state ^ 0xFFFFFFFF


def test_masked_checksum_is_turned_and_shifted():
    # Turned right by 15 bits, then 0xA282EAD8 is added.
    turned = (0xE3069283 >> 15) | (0xE3069283 & 0x7FFF) << 17
    assert masked_crc32c(bytes_of(b"123456789")) == (turned + 0xA282EAD8) % 2**32
