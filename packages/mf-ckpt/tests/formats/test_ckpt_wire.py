"""The wire format, against examples of the Protocol Buffers documentation and the limits of 64 bits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_ckpt.formats.mindspore_ckpt import wire
from mf_config.problems import UserError


@pytest.mark.parametrize(
    ("value", "content"),
    [(1, b"\x01"), (150, b"\x96\x01"), (-2, b"\xfe" + b"\xff" * 8 + b"\x01"), (2**64 - 1, b"\xff" * 9 + b"\x01")],
)
def test_numbers_of_the_documentation(value, content):
    assert wire.varint(value) == content
    assert wire.read_varint(content, 0, len(content)) == (value % 2**64, len(content))


def test_a_message_of_the_documentation():
    """Test3 { Test1 c = 3 } with a = 150, and a text in field 2."""
    content = b"\x1a\x03\x08\x96\x01" + b"\x12\x07testing"
    outer, text = wire.fields(content, 0, len(content))
    assert (outer.number, outer.kind, outer.value) == (3, wire.BYTES, 3)
    assert [(inner.number, inner.value) for inner in wire.fields(content, outer.start, outer.stop)] == [(1, 150)]
    assert wire.text(content, text) == "testing"


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.binary(max_size=200))
def test_what_is_written_is_read(numbers, content):
    packed = wire.bytes_field(5, b"".join(map(wire.varint, numbers)))
    data = packed + b"".join(wire.number_field(6, value) for value in numbers) + wire.bytes_field(300, content)
    first, *singles, last = wire.fields(data, 0, len(data))
    assert wire.numbers(data, first) == [value for single in singles for value in wire.numbers(data, single)] == numbers
    assert (last.number, data[last.start : last.stop]) == (300, content)


@pytest.mark.parametrize("content", [b"\x80", b"\xff" * 10, b"\xff" * 9 + b"\x02", b""])
def test_a_number_that_does_not_end_or_fit_is_refused(content):
    with pytest.raises(UserError, match="doesn't end"):
        wire.read_varint(content, 0, len(content))
