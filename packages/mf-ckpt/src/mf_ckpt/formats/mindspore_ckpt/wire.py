"""The wire format of protocol buffers: the few rules that MindSpore's files need, read strictly.

A message is a sequence of fields. Each begins with a key, a varint of `number << 3 | kind`, followed by a varint (kind
0) or by a length and so many bytes (kind 2). Contents are never copied here: a field says where its bytes lie.
Source: the Encoding page of the Protocol Buffers documentation.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_ckpt.disk.memory_map import Buffer
from mf_config.problems import UserError

VARINT = 0
BYTES = 2

LONGEST_VARINT = 10
"""Bytes of a 64-bit number, seven bits in each."""
_LONGEST_TEXT = 10_000
"""Bytes of a name; a longer one is taken for damage."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message.

    Attributes:
        number: which field of the message it is.
        kind: `VARINT` or `BYTES`.
        value: the number of a `VARINT`, unsigned; the length of `BYTES`.
        start: where the content of `BYTES` begins in the buffer.
    """

    number: int
    kind: int
    value: int
    start: int

    @property
    def stop(self) -> int:
        """The position after the last byte of the content."""
        return self.start + self.value


def fields(data: Buffer, start: int, stop: int) -> Iterator[Field]:
    """The fields of a message, in order; contents are skipped.

    Args:
        data: what holds the message.
        start: where it begins.
        stop: the position after its last byte.

    Yields:
        Each field.

    Raises:
        UserError: the bytes are no message: a number that doesn't end, a kind that isn't used here, or content that
            reaches beyond the message.
    """
    while start < stop:
        key, after = read_varint(data, start, stop)
        number, kind = key >> 3, key & 7
        if kind not in (VARINT, BYTES) or number == 0:
            raise UserError(f"is damaged at byte {start}: no field has number {number} and kind {kind}")
        value, after = read_varint(data, after, stop)
        if kind == BYTES and value > stop - after:
            there = stop - after
            raise UserError(f"is truncated or damaged at byte {start}: {value} bytes are announced, {there} follow")
        yield Field(number, kind, value, after)
        start = after + value if kind == BYTES else after


def read_varint(data: Buffer, start: int, stop: int) -> tuple[int, int]:
    """A number of seven bits in each byte, the lowest first; the top bit says that more follow.

    Returns:
        The number, 0 to 2**64 - 1, and the position after it.

    Raises:
        UserError: it doesn't end in time, or is larger.
    """
    value = 0
    for count, byte in enumerate(data[start : min(stop, start + LONGEST_VARINT)]):
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            if value >> 64:
                break
            return value, start + count + 1
    raise UserError(f"is truncated or damaged at byte {start}: the number that begins there doesn't end")


def signed(value: int) -> int:
    """The signed number that a varint of 64 bits stands for (two's complement)."""
    return value - (1 << 64) if value >> 63 else value


def text(data: Buffer, field: Field) -> str:
    """The content of a field as text.

    Raises:
        UserError: not UTF-8, or absurdly long.
    """
    if field.kind != BYTES or field.value > _LONGEST_TEXT:
        raise UserError(f"is damaged at byte {field.start}: a text of at most {_LONGEST_TEXT} bytes is needed there")
    try:
        return data[field.start : field.stop].decode("utf-8")
    except UnicodeDecodeError:
        raise UserError(f"is damaged: the text at byte {field.start} is not UTF-8") from None


def numbers(data: Buffer, field: Field) -> list[int]:
    """The signed numbers of a repeated field, of which each may stand alone or all packed into one content."""
    if field.kind == VARINT:
        return [signed(field.value)]
    found, start = [], field.start
    while start < field.stop:
        value, start = read_varint(data, start, field.stop)
        found.append(signed(value))
    return found


def varint(value: int) -> bytes:
    """A number of up to 64 bits as it is written; a negative one as two's complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number_field(number: int, value: int) -> bytes:
    """A field that holds a number."""
    return varint(number << 3 | VARINT) + varint(value)


def bytes_field(number: int, content: bytes) -> bytes:
    """A field that holds bytes, text or another message."""
    return bytes_head(number, len(content)) + content


def bytes_head(number: int, length: int) -> bytes:
    """What comes before the content of a field that holds bytes."""
    return varint(number << 3 | BYTES) + varint(length)
