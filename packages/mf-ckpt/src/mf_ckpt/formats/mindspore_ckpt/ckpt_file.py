"""Reads the tensors of a MindSpore `.ckpt` file, each mapped into memory when it is asked for."""

import zlib
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path

import numpy as np

from mf_ckpt.disk.files import CheckpointError
from mf_ckpt.disk.memory_map import map_bytes, map_file
from mf_ckpt.dtypes import Array
from mf_ckpt.formats.mindspore_ckpt.ckpt_format import CRC_BYTES
from mf_ckpt.formats.mindspore_ckpt.ckpt_index import Entry, read_index
from mf_ckpt.sources.source import Slices, TableSource, bounded, extents, part, storage
from mf_ckpt.tensor_info import TensorInfo
from mf_config.problems import UserError

_CRC_BLOCK_BYTES = 1 << 24


class CkptTensors(TableSource[Entry]):
    """The tensors of one `.ckpt` file, read from the mapped file when they are asked for.

    A part of a tensor comes as a read-only view, or is copied where the file has it at an address that its type doesn't
    divide. Of a tensor in several chunks the rows asked for are joined.

    Attributes:
        path: the file.
        texts: its entries that are text, by name.
    """

    def __init__(self, path: Path):
        """Takes a file and makes its index; raises `CheckpointError` where it is damaged."""
        with map_file(path) as data:
            try:
                index = read_index(data)
            except UserError as error:
                raise CheckpointError(path, str(error)) from None
        super().__init__(index.tensors, str(path))
        self.path = path
        self.texts: Mapping[str, str] = index.texts
        self._trailer_bytes = index.trailer_bytes

    def info(self, name: str) -> TensorInfo:
        """Stored element type, by its name in `mf_ckpt.dtypes`, and shape."""
        return self._entry(name).info

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """The stored bits of a tensor or a part of it."""
        return np.require(self._view(name, slices), requirements="A")

    def raw_into(self, name: str, slices: Slices, out: Array) -> None:
        """Copy stored bits into an array."""
        out[...] = self._view(name, slices)

    def check_crc(self) -> None:
        """Read the whole file and compare it with its checksum, where it has one.

        Raises:
            CheckpointError: the content has changed since it was written.
        """
        if not self._trailer_bytes:
            return
        crc = 0
        with map_file(self.path) as data:
            end = len(data) - self._trailer_bytes
            for start in range(0, end, _CRC_BLOCK_BYTES):
                crc = zlib.crc32(data[start : min(end, start + _CRC_BLOCK_BYTES)], crc)
            stored = int.from_bytes(data[len(data) - CRC_BYTES : len(data)], "big")
        if crc != stored:
            raise CheckpointError(self.path, f"has other content than when it was saved (CRC-32 {crc}, not {stored})")

    def _view(self, name: str, slices: Slices) -> Array:
        """A part of a tensor, at whatever address the file has it; copied where it comes from several chunks."""
        entry = self._entry(name)
        shape = entry.info.shape
        full = bounded(name, slices, shape)
        kind = storage(entry.info)
        if not shape:
            return self._content(entry, 0, kind.itemsize).view(kind).reshape(())
        if not entry.info.count:
            return np.empty(extents(full), kind)
        rows, row_bytes = full[0], entry.info.nbytes // shape[0]
        content = self._content(entry, rows.start * row_bytes, rows.stop * row_bytes)
        block = content.view(kind).reshape(rows.stop - rows.start, *shape[1:])
        return part(block, (slice(None), *full[1:]))

    def _content(self, entry: Entry, start: int, stop: int) -> Array:
        """Bytes `start` to `stop` of a tensor's content."""
        pieces = []
        ends = accumulate(chunk.size for chunk in entry.chunks)
        for chunk, end in zip(entry.chunks, ends, strict=True):
            begin = end - chunk.size
            first, after = max(start, begin), min(stop, end)
            if first < after:
                pieces.append(map_bytes(self.path, chunk.start + first - begin, after - first))
        return pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0, np.uint8), *pieces])


def is_ckpt(path: Path) -> bool:
    """Whether a path is a file whose name says that it is a MindSpore checkpoint."""
    return path.name.endswith(".ckpt") and path.is_file()


def open_ckpt(path: str | Path) -> CkptTensors:
    """Open a `.ckpt` file of MindSpore; every header in it is checked, no tensor is read.

    Args:
        path: the file.

    Returns:
        Its tensors. The file must not change while they are in use.

    Raises:
        CheckpointError: the file is missing or damaged, or holds what can't be read: hash tables, 4-bit integers.
    """
    return CkptTensors(Path(path))
