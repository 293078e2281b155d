"""Writes a MindSpore `.ckpt` file that MindSpore loads: tensor by tensor, beside its place, then renamed into it."""

import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType

import numpy as np

from mf_ckpt.disk.atomic_file import atomic_file
from mf_ckpt.disk.files import CheckpointError
from mf_ckpt.dtypes import Array
from mf_ckpt.formats.mindspore_ckpt import wire
from mf_ckpt.formats.mindspore_ckpt.ckpt_format import (
    CHUNK_BYTES,
    CONTENT,
    CRC_BYTES,
    CRC_MARK,
    DIMS,
    ELEMENT_NAMES,
    TAG,
    TENSOR,
    TENSOR_TYPE,
    TEXT_TYPE,
    VALUE,
)
from mf_ckpt.sources.arrays import ArraySource
from mf_ckpt.sources.blocks import BLOCK_BYTES, parts
from mf_ckpt.sources.source import Slices, Source, extents, shifted, storage
from mf_config.problems import UserError, name_values

_TYPE_NAMES = {name: type_name for type_name, name in ELEMENT_NAMES.items()}

Piece = tuple[int, Callable[[Array], None]]
"""A stretch of a file: how many bytes, and what writes them into an array, uint8 of that length."""


def tensor_pieces(source: Source, name: str) -> Iterator[Piece]:
    """What a `.ckpt` file holds of one tensor, in order; no piece has more than `BLOCK_BYTES`.

    Args:
        source: where the tensor is read.
        name: the tensor.

    Raises:
        UserError: the format doesn't have its element type.
    """
    info = source.info(name)
    if info.dtype not in _TYPE_NAMES:
        raise UserError(f"tensor {name!r}: a .ckpt file has no {info.dtype}. Allowed: {name_values(_TYPE_NAMES)}.")
    kind = storage(info)
    # An empty tensor is one value without content.
    empty = tuple(slice(0, extent) for extent in info.shape), 0
    for chunk, count in list(parts(info.shape, CHUNK_BYTES // kind.itemsize)) or [empty]:
        head = _value_head(name, info.shape, _TYPE_NAMES[info.dtype], count * kind.itemsize)
        yield len(head), partial(_copy, head)
        origin = tuple(-along.start for along in chunk)
        for block, values in parts(extents(chunk), BLOCK_BYTES // kind.itemsize):
            yield values * kind.itemsize, partial(_read, source, name, shifted(block, origin), kind)


def check_ckpt_place(path: Path) -> None:
    """Make sure that a `.ckpt` file may be written to a path.

    Raises:
        CheckpointError: the name has another ending, with which MindSpore doesn't load it, or a folder is there.
    """
    if not path.name.endswith(".ckpt") or path.is_dir():
        raise CheckpointError(path, "can't be written. Allowed: a file whose name ends in .ckpt.")


def _value_head(name: str, dims: tuple[int, ...], type_name: str, length: int) -> bytes:
    """Everything of a value but its content, which is `length` bytes and follows."""
    head = b"".join(wire.number_field(DIMS, extent) for extent in dims)
    head += wire.bytes_field(TENSOR_TYPE, type_name.encode()) + wire.bytes_head(CONTENT, length)
    tag = wire.bytes_field(TAG, name.encode())
    tensor = wire.bytes_head(TENSOR, len(head) + length) + head
    return wire.bytes_head(VALUE, len(tag) + len(tensor) + length) + tag + tensor


def _copy(content: bytes, out: Array) -> None:
    out[...] = np.frombuffer(content, np.uint8)


def _read(source: Source, name: str, slices: Slices, kind: np.dtype[np.generic], out: Array) -> None:
    source.raw_into(name, slices, out.view(kind).reshape(extents(slices)))


class CkptWriter:
    """Writes one `.ckpt` file; use it as a context manager.

    When the context ends without an exception the file is flushed to disk and takes its place in one step. After an
    exception it is deleted, and a file that was there stays. A few megabytes are held in memory.

    Example:
        with CkptWriter("rank_0/llama_rank_0-1_100.ckpt") as writer:
            writer.add("model.tok_embeddings.embedding_weight", array, "BF16")
    """

    def __init__(self, path: str | Path, *, crc: bool = False):
        """Takes the target; nothing is touched before the context is entered.

        Args:
            path: the file, whose name ends in `.ckpt` (MindSpore loads no other); folders above it are made.
            crc: whether to end the file with a checksum of its content.

        Raises:
            CheckpointError: the name has another ending, or a folder is there.
        """
        self._path = Path(path)
        self._crc: int | None = 0 if crc else None
        self._names: set[str] = set()
        self._cleanup = ExitStack()
        check_ckpt_place(self._path)

    def __enter__(self) -> "CkptWriter":
        """Start writing beside the target."""
        self._file = self._cleanup.enter_context(atomic_file(self._path))
        # Comes before the file's own end, which must hear of it where this fails.
        self._cleanup.push(self._add_checksum)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put the file in its place, or after an exception delete what was written."""
        self._cleanup.__exit__(kind, error, trace)

    def add(self, name: str, array: Array, dtype: str | None = None) -> None:
        """Write one tensor.

        Args:
            name: its name, as the MindSpore cell calls its parameter.
            array: its values, any shape; for BF16 also its bits.
            dtype: the element type to store, by its name in `mf_ckpt.dtypes`; that of the array where None.

        Raises:
            ValueError: a name added twice, or an element type that the format doesn't have.
        """
        self.add_from(ArraySource({name: array}, {name: dtype} if dtype else None), name)

    def add_from(self, source: Source, name: str) -> None:
        """Write one tensor of a source under its own name, a few megabytes at a time.

        Args:
            source: where it is read.
            name: the tensor.

        Raises:
            ValueError: as for `add`.
        """
        self._check_new(name)
        for nbytes, fill in tensor_pieces(source, name):
            content: Array = np.empty(nbytes, np.uint8)
            fill(content)
            self._write(content.data)

    def add_text(self, name: str, text: str) -> None:
        """Write an entry that is text.

        Args:
            name: its name.
            text: what `load_checkpoint` gives as a string; not empty.

        Raises:
            ValueError: a name added twice, or no text.
        """
        self._check_new(name)
        if not text:
            raise ValueError(f"text {name!r} is empty, which MindSpore can't load")
        content = text.encode("utf-32-le")
        self._write(_value_head(name, (0,), TEXT_TYPE, len(content)) + content)

    def _add_checksum(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._crc is not None:
            self._file.write(CRC_MARK + self._crc.to_bytes(CRC_BYTES, "big"))

    def _check_new(self, name: str) -> None:
        if not name or name in self._names:
            raise ValueError(f"name {name!r} was added before, or is empty")
        self._names.add(name)

    def _write(self, content: bytes | memoryview) -> None:
        self._file.write(content)
        if self._crc is not None:
            self._crc = zlib.crc32(content, self._crc)
