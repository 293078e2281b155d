"""The files of a checkpoint whose tensors are all known before: names, headers, and every block of their bytes."""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from mf_ckpt.disk.files import json_bytes
from mf_ckpt.dtypes import Array
from mf_ckpt.formats.safetensors_file.header import render_entry, render_header
from mf_ckpt.formats.safetensors_file.tensors import index_name
from mf_ckpt.sources.blocks import BLOCK_BYTES, parts
from mf_ckpt.sources.source import Slices, Source, extents, storage
from mf_ckpt.tensor_info import TensorInfo

_MOST_HEADER_BYTES = 50_000_000
"""Half of what readers accept; a file with more tensors than that takes is closed."""

_NO_LIMIT = 2**63


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a file that is made in one go.

    Attributes:
        file: name of the file.
        begin: where it lies in the file.
        nbytes: its length, at most `BLOCK_BYTES`.
        fill: writes its bytes into an array, uint8 [nbytes].
    """

    file: str
    begin: int
    nbytes: int
    fill: Callable[[Array], None]


class PlannedFile(Protocol):
    """A file of which every byte is known how to make, before any is made."""

    @property
    def name(self) -> str:
        """Its name, without a folder."""

    @property
    def size(self) -> int:
        """Its length in bytes."""

    def blocks(self) -> Iterator[Block]:
        """Everything that the file consists of, from its first byte to its last."""


@dataclass(frozen=True, slots=True)
class PlannedTensorFile:
    """One safetensors file.

    Attributes:
        name: its name.
        header: its first bytes.
        tensors: name to type and shape, in the order of the data.
        source: where the tensors are read.
        size: its length in bytes.
    """

    name: str
    header: bytes
    tensors: Mapping[str, TensorInfo]
    source: Source
    size: int

    def blocks(self) -> Iterator[Block]:
        """Everything that the file consists of, from its first byte to its last."""
        for begin in range(0, len(self.header), BLOCK_BYTES):
            piece = self.header[begin : begin + BLOCK_BYTES]
            yield Block(self.name, begin, len(piece), partial(_copy_bytes, piece))
        begin = len(self.header)
        for tensor, info in self.tensors.items():
            kind = storage(info)
            for slices, count in parts(info.shape, BLOCK_BYTES // kind.itemsize):
                fill = partial(_read_part, self.source, tensor, slices, kind)
                yield Block(self.name, begin, count * kind.itemsize, fill)
                begin += count * kind.itemsize


@dataclass(frozen=True, slots=True)
class Series:
    """Tensors that go into files of one name and one index.

    Attributes:
        stem: the files are `STEM-00001-of-0000N.safetensors`.
        source: the tensors.
        shard_bytes: most bytes of tensor data in one file; a larger tensor gets a file of its own.
        metadata: free text entries of every file's header.
        index_metadata: free entries of the index; its `total_size` is set here.
        breaks: tensors that start a new file.
        one_file_name: what the only file is called, without index, where there is one file; None for the usual form.
    """

    stem: str
    source: Source
    shard_bytes: int
    metadata: Mapping[str, str]
    index_metadata: Mapping[str, object] = field(default_factory=dict)
    breaks: Container[str] = ()
    one_file_name: str | None = None

    def plan(self) -> tuple[list[PlannedTensorFile], dict[str, bytes]]:
        """The files, and the index that goes with them by its name."""
        groups = self._groups()
        count = len(groups)
        if count == 1 and self.one_file_name:
            return [self._file(self.one_file_name, groups[0])], {}
        files = [
            self._file(f"{self.stem}-{number:05d}-of-{count:05d}.safetensors", group)
            for number, group in enumerate(groups, start=1)
        ]
        file_of = {tensor: file.name for file in files for tensor in file.tensors}
        total = sum(info.nbytes for file in files for info in file.tensors.values())
        index = {"metadata": {**self.index_metadata, "total_size": total}, "weight_map": dict(sorted(file_of.items()))}
        return files, {index_name(self.stem): json_bytes(index)}

    def _groups(self) -> list[dict[str, TensorInfo]]:
        groups: list[dict[str, TensorInfo]] = []
        data_bytes = header_bytes = 0
        for tensor in self.source:
            info = self.source.info(tensor)
            full = data_bytes + info.nbytes > self.shard_bytes or header_bytes > _MOST_HEADER_BYTES
            if not groups or full or tensor in self.breaks:
                groups.append({})
                data_bytes = header_bytes = 0
            groups[-1][tensor] = info
            data_bytes += info.nbytes
            header_bytes += len(render_entry(tensor, info, data_bytes))
        return groups

    def _file(self, name: str, tensors: Mapping[str, TensorInfo]) -> PlannedTensorFile:
        entries, data_bytes = [], 0
        for tensor, info in tensors.items():
            entries.append(render_entry(tensor, info, data_bytes))
            data_bytes += info.nbytes
        header = render_header(entries, self.metadata)
        return PlannedTensorFile(name, header, tensors, self.source, len(header) + data_bytes)


def one_file(name: str, tensors: Source, metadata: Mapping[str, str]) -> Iterator[memoryview]:
    """The bytes of one safetensors file, in order.

    Args:
        name: the file.
        tensors: all that it holds.
        metadata: free text entries of its header.
    """
    (planned,), _ = Series("", tensors, _NO_LIMIT, metadata, one_file_name=name).plan()
    for block in planned.blocks():
        content = np.empty(block.nbytes, np.uint8)
        block.fill(content)
        yield content.data


def _copy_bytes(content: bytes, out: Array) -> None:
    out[...] = np.frombuffer(content, np.uint8)


def _read_part(source: Source, tensor: str, slices: Slices, kind: np.dtype[np.generic], out: Array) -> None:
    source.raw_into(tensor, slices, out.view(kind).reshape(extents(slices)))
