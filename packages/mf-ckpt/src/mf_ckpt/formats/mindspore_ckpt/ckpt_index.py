"""The index of a MindSpore `.ckpt` file: what lies where, found by skipping over the contents, from untrusted bytes."""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_ckpt.disk.memory_map import Buffer
from mf_ckpt.formats.mindspore_ckpt import wire
from mf_ckpt.formats.mindspore_ckpt.ckpt_format import (
    CONTENT,
    CRC_BYTES,
    CRC_MARK,
    DIMS,
    ELEMENT_NAMES,
    MAP_TENSOR,
    TAG,
    TENSOR,
    TENSOR_TYPE,
    TEXT_TYPE,
    VALUE,
)
from mf_ckpt.tensor_info import TensorInfo
from mf_config.problems import UserError
from mf_config.suggest import nearest

_MOST_DIMS = 32
_MOST_BYTES = 2**63 - 1
_MOST_VALUES = 1_000_000
_MOST_TEXT_BYTES = 16_777_216
"""More values, and longer texts, are taken for damage: the index of a hostile file must not fill the memory."""
_PICKLES = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04")
"""How a zip archive of PyTorch and a bare pickle begin."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Where a part of a content lies in the file: first byte, number of bytes."""

    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A tensor of the index.

    Attributes:
        info: its type, by its name in `mf_ckpt.dtypes`, and shape.
        chunks: the places of its content, in order.
    """

    info: TensorInfo
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Index:
    """What a file holds.

    Attributes:
        tensors: name to type, shape and place, in the order of the file.
        texts: its entries that are text, by name.
        trailer_bytes: length of the checksum at the end, 0 where there is none.
    """

    tensors: dict[str, Entry]
    texts: dict[str, str]
    trailer_bytes: int


@dataclass(frozen=True, slots=True)
class _Value:
    """One value as the file has it: name, type, dims, and the place of its content."""

    tag: str
    type_name: str
    dims: tuple[int, ...]
    chunk: Chunk


def read_index(data: Buffer) -> Index:
    """Read and check everything but the contents.

    Args:
        data: the file.

    Returns:
        The index.

    Raises:
        UserError: the file is damaged, of another kind, or holds what can't be read.
    """
    trailer_bytes = _trailer_bytes(data)
    entries: dict[str, Entry] = {}
    texts: dict[str, str] = {}
    try:
        for run in _runs(_values(data, len(data) - trailer_bytes)):
            tag = run[0].tag
            if tag in entries or tag in texts:
                raise UserError(f"holds {tag!r} twice, in places apart")
            if run[0].type_name == TEXT_TYPE:
                texts[tag] = _text(data, run)
            else:
                entries[tag] = _entry(run)
    except UserError as error:
        raise UserError(f"{error}{_other_kind(data)}") from None
    return Index(entries, texts, trailer_bytes)


def _trailer_bytes(data: Buffer) -> int:
    length = len(CRC_MARK) + CRC_BYTES
    start = len(data) - length
    return length if start >= 0 and data[start : start + len(CRC_MARK)] == CRC_MARK else 0


def _runs(values: Iterator[_Value]) -> Iterator[list[_Value]]:
    """Neighbouring values of the same tag, which are the chunks of one tensor."""
    run: list[_Value] = []
    for value in values:
        if run and value.tag != run[0].tag:
            yield run
            run = []
        run.append(value)
    if run:
        yield run


def _values(data: Buffer, size: int) -> Iterator[_Value]:
    for count, outer in enumerate(wire.fields(data, 0, size)):
        if count >= _MOST_VALUES:
            raise UserError(f"is damaged: it has more than {_MOST_VALUES} values")
        if outer.number != VALUE or outer.kind != wire.BYTES:
            raise UserError(f"is no MindSpore checkpoint: field {outer.number} at its top, where only values are known")
        found = _once(data, outer, {TAG, TENSOR, MAP_TENSOR})
        if TAG not in found:
            raise UserError(f"is damaged: the value at byte {outer.start} has no name")
        tag = wire.text(data, found[TAG])
        if MAP_TENSOR in found:
            raise UserError(f"holds {tag!r} as a hash table (MapParameter), which can't be read. Allowed: tensors.")
        if TENSOR not in found or found[TENSOR].kind != wire.BYTES:
            raise UserError(f"is damaged: {tag!r} has no tensor")
        yield _value(data, tag, found[TENSOR])


def _once(data: Buffer, message: wire.Field, known: set[int]) -> dict[int, wire.Field]:
    found: dict[int, wire.Field] = {}
    for field in wire.fields(data, message.start, message.stop):
        if field.number not in known or field.number in found:
            raise UserError(f"is damaged: field {field.number} at byte {field.start} is unknown or written twice")
        found[field.number] = field
    return found


def _value(data: Buffer, tag: str, tensor: wire.Field) -> _Value:
    dims: list[int] = []
    type_name: str | None = None
    chunk: Chunk | None = None
    for field in wire.fields(data, tensor.start, tensor.stop):
        if field.number == DIMS and (field.kind == wire.VARINT or field.value <= _MOST_DIMS * wire.LONGEST_VARINT):
            dims += wire.numbers(data, field)
        elif field.number == TENSOR_TYPE and type_name is None:
            type_name = wire.text(data, field)
        elif field.number == CONTENT and field.kind == wire.BYTES and chunk is None:
            chunk = Chunk(field.start, field.value)
        else:
            raise UserError(f"is damaged: tensor {tag!r} has field {field.number} twice, too long or unknown")
        if len(dims) > _MOST_DIMS:
            raise UserError(f"tensor {tag!r}: more than {_MOST_DIMS} dims")
    if type_name is None or chunk is None:
        raise UserError(f"is damaged: tensor {tag!r} lacks its type or its content")
    return _Value(tag, type_name, tuple(dims), chunk)


def _entry(run: list[_Value]) -> Entry:
    first = run[0]
    where = f"tensor {first.tag!r}"
    if any((value.type_name, value.dims) != (first.type_name, first.dims) for value in run):
        raise UserError(f"{where}: its chunks differ in type or shape, or the name is there twice")
    if first.type_name not in ELEMENT_NAMES:
        guess = nearest(first.type_name, ELEMENT_NAMES)
        hint = f" Did you mean {guess}?" if guess else ""
        raise UserError(f"{where}: unknown type {first.type_name!r}. Allowed: {', '.join(ELEMENT_NAMES)}.{hint}")
    size = sum(value.chunk.size for value in run)
    # MindSpore reads dims [0] as those of a scalar; only without content is it an empty tensor.
    dims = () if first.dims == (0,) and size else first.dims
    if min(dims, default=0) < 0:
        raise UserError(f"{where}: dims {list(dims)} are not whole numbers from 0")
    info = TensorInfo(ELEMENT_NAMES[first.type_name], dims)
    if TensorInfo(info.dtype, tuple(max(extent, 1) for extent in dims)).nbytes > _MOST_BYTES:
        raise UserError(f"{where}: dims {list(dims)} are too large to be counted")
    if info.nbytes != size:
        raise UserError(f"{where}: type {first.type_name} and dims {list(dims)} need {info.nbytes} bytes, found {size}")
    return Entry(info, tuple(value.chunk for value in run))


def _text(data: Buffer, run: list[_Value]) -> str:
    if sum(value.chunk.size for value in run) > _MOST_TEXT_BYTES:
        raise UserError(f"text {run[0].tag!r} is longer than {_MOST_TEXT_BYTES} bytes")
    content = b"".join(data[value.chunk.start : value.chunk.start + value.chunk.size] for value in run)
    try:
        return content.decode("utf-32-le").rstrip("\0")
    except UnicodeDecodeError:
        raise UserError(f"text {run[0].tag!r} is not UTF-32") from None


def _other_kind(data: Buffer) -> str:
    """What a file that is no checkpoint may be, in words; empty where nothing is sure."""
    head = data[:4]
    if head.startswith(_PICKLES):
        return "; it looks like a PyTorch file, which is never unpickled. Allowed: the same weights as safetensors."
    if head.startswith(b"\x08"):
        return "; it may be a strategy file (how tensors are divided), not weights"
    return ""
