"""The header of a safetensors file: read strictly, written into a space of fixed size.

A file is eight bytes with the header's length (unsigned, little-endian), the header (a JSON object from tensor names
to type, shape and place), and the data. The tensors tile the data without gap or overlap.
Source: the format's description in the README of huggingface/safetensors.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mf_ckpt.disk.files import CheckpointError, JsonObject, parse_json_object
from mf_ckpt.dtypes import ELEMENT_TYPES
from mf_ckpt.tensor_info import TensorInfo
from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest

LENGTH_BYTES = 8
METADATA = "__metadata__"
"""The one key of a header that is not a tensor: text to text."""

_ALIGNMENT = 8

_MOST_HEADER_BYTES = 100_000_000
"""The limit of the reference implementation; a longer header is taken for damage."""
_MOST_DIMS = 32
"""What every supported numpy release can index."""
_MOST_BYTES = 2**63 - 1
"""Sizes that numpy can't count are refused, also those of an empty tensor's other dimensions."""
_LFS_POINTER = b"version https://git-lfs"


@dataclass(frozen=True, slots=True)
class Header:
    """A checked header.

    Attributes:
        tensors: name to type and shape, in the file's order.
        begins: name to the byte where the tensor's data begins, counted from the start of the file.
        metadata: the file's free text entries.
    """

    tensors: Mapping[str, TensorInfo]
    begins: Mapping[str, int]
    metadata: Mapping[str, str]


def read_header(path: Path) -> Header:
    """Read and check a file's header; the data is not touched.

    Raises:
        CheckpointError: the file is missing or damaged.
    """
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            head = file.read(len(_LFS_POINTER))
            length = _header_length(head, size)
            file.seek(LENGTH_BYTES)
            return _checked(parse_json_object(file.read(length)), LENGTH_BYTES + length, size)
    except FileNotFoundError:
        raise CheckpointError(path, "no such file") from None
    except IsADirectoryError:
        raise CheckpointError(path, "is a folder where a safetensors file is needed") from None
    except UserError as error:
        raise CheckpointError(path, str(error)) from None


def render_entry(name: str, info: TensorInfo, begin: int) -> bytes:
    """One tensor's part of a header.

    Args:
        name: the tensor's name.
        info: its type and shape.
        begin: where its bytes begin, counted from the start of the data.
    """
    place = [begin, begin + info.nbytes]
    return _render({name: {"dtype": info.dtype, "shape": list(info.shape), "data_offsets": place}})


def render_header(entries: Sequence[bytes], metadata: Mapping[str, str], data_start: int | None = None) -> bytes:
    """The first bytes of a file.

    Args:
        entries: what `render_entry` makes of each tensor, in the order of the data.
        metadata: free text entries.
        data_start: the byte where the data begins; the header is padded with spaces up to it, as the format allows.
            None for the next multiple of 8, as the reference implementation has it.

    Returns:
        Exactly `data_start` bytes.

    Raises:
        ValueError: the entries need more room.
    """
    free_text = [_render({METADATA: dict(metadata)})] if metadata else []
    text = b"{" + b",".join((*free_text, *entries)) + b"}"
    length = -(-len(text) // _ALIGNMENT) * _ALIGNMENT if data_start is None else data_start - LENGTH_BYTES
    if len(text) > length:
        raise ValueError(f"a header of {len(text)} bytes doesn't fit into {length}")
    return length.to_bytes(LENGTH_BYTES, "little") + text.ljust(length)


def _render(entry: JsonObject) -> bytes:
    return json.dumps(entry, separators=(",", ":"), ensure_ascii=False)[1:-1].encode()


def _header_length(head: bytes, size: int) -> int:
    if size == 0:
        raise UserError("is empty")
    if head.startswith(_LFS_POINTER):
        raise UserError("is a pointer of Git LFS (large-file store), not the weights: download the file itself")
    if size < LENGTH_BYTES:
        raise UserError(f"is truncated: {size} bytes, and the length of the header alone takes {LENGTH_BYTES}")
    length = int.from_bytes(head[:LENGTH_BYTES], "little")
    if length > _MOST_HEADER_BYTES:
        raise UserError(f"header length {length} is absurd: damaged, or not a safetensors file")
    if length > size - LENGTH_BYTES:
        raise UserError(
            f"is truncated in the header: {length - (size - LENGTH_BYTES)} of its {length} bytes are missing"
        )
    if length == 0:
        raise UserError("has a header of length 0: damaged, or not a safetensors file")
    return length


def _checked(entries: JsonObject, data_start: int, size: int) -> Header:
    metadata = entries.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise UserError(f"{METADATA} must map text to text")
    tensors: dict[str, TensorInfo] = {}
    spans: dict[str, tuple[int, int]] = {}
    for name, entry in entries.items():
        try:
            tensors[name], spans[name] = _entry(entry)
        except UserError as error:
            raise UserError(f"tensor {name!r}: {error}") from None
    _check_tiling(spans, size - data_start)
    begins = {name: data_start + begin for name, (begin, _) in spans.items()}
    return Header(tensors, begins, metadata)


def _entry(entry: object) -> tuple[TensorInfo, tuple[int, int]]:
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise UserError("must have dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in ELEMENT_TYPES:
        guess = nearest(str(dtype), ELEMENT_TYPES)
        hint = f" Did you mean {guess}?" if guess else ""
        raise UserError(f"unknown dtype {dtype!r}. Allowed: {', '.join(ELEMENT_TYPES)}.{hint}")
    if not _is_whole_numbers(shape) or len(shape) > _MOST_DIMS:
        raise UserError(f"shape {_short(shape)} is not a list of at most {_MOST_DIMS} whole numbers")
    if math.prod(max(size, 1) for size in shape) * ELEMENT_TYPES[dtype].storage.itemsize > _MOST_BYTES:
        raise UserError(f"shape {_short(shape)} is too large to be counted")
    if not _is_whole_numbers(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise UserError(f"data_offsets {_short(offsets)} are not two whole numbers, begin and end in this order")
    info = TensorInfo(dtype, tuple(shape))
    if info.nbytes != offsets[1] - offsets[0]:
        raise UserError(
            f"dtype {dtype} and shape {_short(shape)} need {info.nbytes} bytes, "
            f"but data_offsets {_short(offsets)} hold {offsets[1] - offsets[0]}"
        )
    return info, (offsets[0], offsets[1])


def _check_tiling(spans: Mapping[str, tuple[int, int]], data_bytes: int) -> None:
    previous, reached = "", 0
    for name, (begin, end) in sorted(spans.items(), key=lambda item: item[1]):
        if begin < reached:
            raise UserError(f"the data of tensors {previous!r} and {name!r} overlap")
        if begin > reached:
            after = f"after {previous!r}" if previous else "at the start of the data"
            raise UserError(f"there is a gap of {begin - reached} bytes {after}, before tensor {name!r}")
        previous, reached = name, end
    if reached > data_bytes:
        raise UserError(
            f"is truncated: the last {reached - data_bytes} bytes of data are missing (tensor {previous!r})"
        )
    if reached < data_bytes:
        raise UserError(f"has {data_bytes - reached} bytes at the end that belong to no tensor")


def _is_whole_numbers(value: object) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _short(value: object) -> str:
    return f"[{name_values(value)}]" if isinstance(value, list) else repr(value)
