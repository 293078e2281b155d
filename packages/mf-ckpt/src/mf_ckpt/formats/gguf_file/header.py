"""The header of a GGUF file: metadata and the places of the tensors, read strictly from untrusted bytes.

A file is a magic word, a version, two counts, so many metadata entries, so many tensor descriptions, padding, and the
tensors' data. Source: the description of GGUF, versions 2 and 3, in the repository of ggml.
"""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from mf_ckpt.disk.memory_map import Buffer
from mf_ckpt.formats.gguf_file.blocks import BLOCKS, TYPE_NAMES, QuantizedInfo
from mf_ckpt.tensor_info import TensorInfo
from mf_config.problems import UserError, name_values

Value = int | float | bool | str | list["Value"]
"""A metadata value."""

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_STRING, _ARRAY, _BOOL = 8, 9, 7
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
"""Number of a value's type to its form in `struct`."""
_ALIGNMENT_KEY, _ALIGNMENT = "general.alignment", 32
_SPLIT_KEY = "split.count"
_MOST_DIMS = 8
_MOST_BYTES = 2**63 - 1
_MOST_ITEMS = 10_000_000
"""Items of an array and entries of the header at most; the largest vocabularies have some 300,000 words."""
_MOST_NESTING = 4
_LEAST_ENTRY_BYTES, _LEAST_TENSOR_BYTES = 13, 24
"""What the shortest metadata entry and tensor description take: a count that needs more than the file has is damage."""


@dataclass(frozen=True, slots=True)
class Header:
    """A checked header.

    Attributes:
        metadata: the entries, in the file's order.
        tensors: name to type and shape; the last dimension is the one whose values lie side by side.
        begins: name to the byte where the tensor's data begins, counted from the start of the file.
    """

    metadata: Mapping[str, Value]
    tensors: Mapping[str, TensorInfo]
    begins: Mapping[str, int]


def read_header(data: Buffer) -> Header:
    """Read and check the header of a file.

    Args:
        data: the file's content.

    Returns:
        The header.

    Raises:
        UserError: the file is damaged, of an unknown version or byte order, one of several parts, or has a tensor of
            a type that isn't read.
    """
    cursor = _Cursor(data)
    _check_start(cursor)
    tensor_count, entry_count = cursor.number("Q"), cursor.number("Q")
    cursor.check_count(entry_count, _LEAST_ENTRY_BYTES, "metadata entries")
    cursor.check_count(tensor_count, _LEAST_TENSOR_BYTES, "tensors")
    metadata: dict[str, Value] = {}
    for _ in range(entry_count):
        key = cursor.string()
        if key in metadata:
            raise UserError(f"has metadata {key!r} twice")
        metadata[key] = cursor.value(cursor.number("I"), 0)
    if metadata.get(_SPLIT_KEY, 1) not in (0, 1):
        raise UserError(f"is one of {metadata[_SPLIT_KEY]} parts. Allowed: a single file (llama-gguf-split --merge).")
    tensors: dict[str, TensorInfo] = {}
    offsets: dict[str, int] = {}
    for _ in range(tensor_count):
        name = cursor.string()
        if name in tensors:
            raise UserError(f"has tensor {name!r} twice")
        tensors[name], offsets[name] = _tensor(cursor, name)
    alignment = metadata.get(_ALIGNMENT_KEY, _ALIGNMENT)
    if type(alignment) is not int or not 0 < alignment <= 1 << 20 or alignment & (alignment - 1):
        raise UserError(f"{_ALIGNMENT_KEY} {alignment!r} is no power of two")
    start = -(-cursor.at // alignment) * alignment
    _check_places(tensors, offsets, alignment, len(data) - start)
    return Header(metadata, tensors, {name: start + offset for name, offset in offsets.items()})


class _Cursor:
    """Reads one value after the other, and never beyond the end."""

    def __init__(self, data: Buffer):
        self.at = 0
        self._data = data
        self._size = len(data)

    def take(self, count: int) -> bytes:
        if count > self._size - self.at:
            raise UserError(f"is truncated in the header: {count} bytes are needed at byte {self.at} of {self._size}")
        self.at += count
        return self._data[self.at - count : self.at]

    def number(self, form: str) -> int:
        (value,) = struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))
        return int(value)

    def string(self) -> str:
        start = self.at
        try:
            return self.take(self.number("Q")).decode("utf-8")
        except UnicodeDecodeError:
            raise UserError(f"is damaged: the text at byte {start} is not UTF-8") from None

    def check_count(self, count: int, least_bytes: int, what: str) -> None:
        if count > _MOST_ITEMS or count * least_bytes > self._size - self.at:
            raise UserError(f"is damaged or truncated: {count} {what} are announced at byte {self.at} of {self._size}")

    def value(self, kind: int, depth: int) -> Value:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            return self._array(depth)
        if kind not in _SCALARS:
            raise UserError(f"is damaged: a value of unknown type {kind} at byte {self.at}")
        return self._scalars(kind, 1)[0]

    def _array(self, depth: int) -> list[Value]:
        kind, count = self.number("I"), self.number("Q")
        if depth == _MOST_NESTING:
            raise UserError(f"is damaged: arrays are nested deeper than {_MOST_NESTING} at byte {self.at}")
        if kind in _SCALARS:
            self.check_count(count, struct.calcsize("<" + _SCALARS[kind]), "array items")
            return self._scalars(kind, count)
        self.check_count(count, 8, "array items")
        return [self.value(kind, depth + 1) for _ in range(count)]

    def _scalars(self, kind: int, count: int) -> list[Value]:
        form = f"<{count}{_SCALARS[kind]}"
        values = struct.unpack(form, self.take(struct.calcsize(form)))
        if kind != _BOOL:
            return list(values)
        if any(value > 1 for value in values):
            raise UserError(f"is damaged: a boolean before byte {self.at} is neither 0 nor 1")
        return [bool(value) for value in values]


def _check_start(cursor: _Cursor) -> None:
    if cursor.take(len(_MAGIC)) != _MAGIC:
        raise UserError("is no GGUF file: it doesn't begin with GGUF")
    version = cursor.number("I")
    if version & 0xFFFF == 0:
        raise UserError("has its numbers in big-endian order. Allowed: little-endian.")
    if version not in _VERSIONS:
        raise UserError(f"has version {version} of the format. Allowed: {name_values(_VERSIONS)}.")


def _tensor(cursor: _Cursor, name: str) -> tuple[TensorInfo, int]:
    count = cursor.number("I")
    if count > _MOST_DIMS:
        raise UserError(f"tensor {name!r}: {count} dimensions. Allowed: at most {_MOST_DIMS}.")
    # The file has the dimension of neighbouring values first.
    shape = tuple(reversed([cursor.number("Q") for _ in range(count)]))
    kind, offset = cursor.number("I"), cursor.number("Q")
    dtype = TYPE_NAMES.get(kind)
    if dtype is None:
        raise UserError(f"tensor {name!r}: type number {kind} is not read. Allowed: {', '.join(TYPE_NAMES.values())}.")
    if math.prod(max(extent, 1) for extent in shape) * 8 > _MOST_BYTES:
        raise UserError(f"tensor {name!r}: shape {list(shape)} is too large to be counted")
    if dtype not in BLOCKS:
        return TensorInfo(dtype, shape), offset
    if not shape or shape[-1] % BLOCKS[dtype].values:
        raise UserError(f"tensor {name!r}: rows of {dtype} need a multiple of {BLOCKS[dtype].values} values")
    return QuantizedInfo(dtype, shape), offset


def _check_places(
    tensors: Mapping[str, TensorInfo], offsets: Mapping[str, int], alignment: int, data_bytes: int
) -> None:
    previous, reached = "", 0
    for name in sorted(offsets, key=lambda name: offsets[name]):
        begin, end = offsets[name], offsets[name] + tensors[name].nbytes
        if begin % alignment:
            raise UserError(f"tensor {name!r}: its data is not aligned to {alignment} bytes")
        if begin < reached:
            raise UserError(f"the data of tensors {previous!r} and {name!r} overlap")
        if end > max(data_bytes, 0):
            raise UserError(f"is truncated: the last {end - max(data_bytes, 0)} bytes of tensor {name!r} are missing")
        previous, reached = name, end
