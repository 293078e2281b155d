"""Reads tensors from one or several safetensors files, mapped into memory."""

import math
import mmap
import os
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from mf_ckpt.disk.files import CheckpointError, is_simple_name, member, read_json
from mf_ckpt.dtypes import Array
from mf_ckpt.formats.safetensors_file.header import Header, read_header
from mf_ckpt.sources.source import Slices, TableSource, bounded, some, storage
from mf_ckpt.tensor_info import TensorInfo


class TensorFile:
    """One safetensors file: its header is checked at once, its data mapped into memory when first asked for.

    Attributes:
        path: the file.
        header: its tensors and their places.
    """

    def __init__(self, path: Path):
        """Takes a file; see `read_header` for what is refused."""
        self.path = path
        self.header: Header = read_header(path)

    def in_order(self, names: Collection[str]) -> list[str]:
        """Some of its tensors in the order of their data."""
        return [name for name in sorted(self.header.tensors, key=self.header.begins.__getitem__) if name in names]

    def raw(self, name: str) -> Array:
        """The stored bits of a tensor as a read-only view of the mapped file."""
        info = self.header.tensors[name]
        if info.count == 0:
            return np.empty(info.shape, storage(info))
        begin = self.header.begins[name]
        bits: Array = self._bytes[begin : begin + info.nbytes].view(storage(info))
        return bits.reshape(info.shape)

    def raw_into(self, name: str, slices: Slices, out: Array) -> None:
        """Copy a part of a tensor without keeping any of it mapped, so that a stream of any length needs no memory.

        Args:
            name: the tensor.
            slices: bounded slices.
            out: where to.
        """
        if out.size == 0:
            return
        first, after = _stretch(slices, self.header.tensors[name].shape)
        begin = self.header.begins[name] + first * out.itemsize
        # Opened for each call: the pieces of many ranks would need more open files than a process may have.
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            if out.flags.c_contiguous and after - first == out.size:
                _read_exactly(descriptor, begin, out, self.path)
            else:
                end = begin + (after - first) * out.itemsize
                _copy_strided(descriptor, begin, end, self.header.tensors[name].shape, out)
        finally:
            os.close(descriptor)

    @cached_property
    def _bytes(self) -> Array:
        return np.asarray(np.memmap(self.path, np.uint8, "r"))


class Tensors(TableSource[TensorFile]):
    """Tensors by name in safetensors files, read when they are asked for.

    A whole tensor or a part comes as a read-only view of the mapped file, so that only the pages in use are read;
    what numpy can't hold (BF16, 8-bit floats) is copied and widened exactly to float32, and so is, without widening,
    what the file places at an address that its type doesn't divide.

    Attributes:
        files: tensor name to the open file that holds it.
    """

    def __init__(self, files: Mapping[str, TensorFile], origin: str):
        """Takes the file that holds each name, and how messages call the whole."""
        super().__init__(files, origin)
        self.files = files

    def info(self, name: str) -> TensorInfo:
        """Stored element type and shape, without reading the tensor; raises `TensorNotFoundError`."""
        return self._entry(name).header.tensors[name]

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """The stored bits of a tensor or a part; see `Source.raw`."""
        whole = self._entry(name).raw(name)
        if not slices:
            return np.require(whole, requirements="A")
        return np.require(whole[bounded(name, slices, whole.shape)], requirements="A")

    def raw_into(self, name: str, slices: Slices, out: Array) -> None:
        """Copy stored bits into an array; see `Source.raw_into`."""
        file = self._entry(name)
        file.raw_into(name, bounded(name, slices, file.header.tensors[name].shape), out)


def _stretch(slices: Slices, shape: tuple[int, ...]) -> tuple[int, int]:
    """First element of a non-empty part and the one after its last, counted through the tensor in C order."""
    first = last = 0
    for piece, size in zip(slices, shape, strict=True):
        first, last = first * size + piece.start, last * size + piece.stop - 1
    return first, last + 1


def _copy_strided(descriptor: int, begin: int, end: int, shape: tuple[int, ...], out: Array) -> None:
    """Fill an array with a block of a tensor.

    Args:
        descriptor: the open file.
        begin: where the block's first element lies in the file.
        end: where its last element ends.
        shape: the whole tensor's shape, which tells how far rows lie apart.
        out: where to, in the block's shape.
    """
    strides = [out.itemsize * math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
    page = begin // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
    with mmap.mmap(descriptor, end - page, offset=page, access=mmap.ACCESS_READ) as mapped:
        block: Array = np.ndarray(out.shape, out.dtype, mapped, begin - page, strides)
        out[...] = block
        # A mapping in use can't be closed.
        del block


def _read_exactly(descriptor: int, begin: int, out: Array, path: Path) -> None:
    """Fill a contiguous array with a file's bytes; a read may return fewer bytes than asked for."""
    view = out.reshape(-1).view(np.uint8).data
    while view:
        count = os.preadv(descriptor, [view], begin)
        if count == 0:
            raise CheckpointError(path, "has become shorter while it was read")
        view, begin = view[count:], begin + count


def open_file(path: Path) -> Tensors:
    """The tensors of one safetensors file.

    Raises:
        CheckpointError: the file is missing or damaged.
    """
    file = TensorFile(path)
    return Tensors(dict.fromkeys(file.in_order(file.header.tensors), file), str(path))


def open_series(folder: Path, stem: str) -> Tensors:
    """The tensors of the files that an index names.

    Args:
        folder: where index and files lie.
        stem: `model` or `optimizer`; the index is `STEM.safetensors.index.json`.

    Returns:
        The tensors that the index names; others in the files are no part of it.

    Raises:
        CheckpointError: the index or a file is missing or damaged, a name leaves the folder, or a tensor is not
            where the index says.
    """
    index = member(folder, index_name(stem))
    names_of: dict[str, list[str]] = {}
    for name, file_name in read_index(index).items():
        names_of.setdefault(file_name, []).append(name)
    opened = {file_name: _open_part(index, file_name, names) for file_name, names in names_of.items()}
    files = {name: file for part, file in sorted(opened.items()) for name in file.in_order(set(names_of[part]))}
    return Tensors(files, str(folder))


def index_name(stem: str) -> str:
    """The name of the index of a series of files."""
    return f"{stem}.safetensors.index.json"


def read_index(path: Path) -> dict[str, str]:
    """An index: tensor name to file name.

    Raises:
        CheckpointError: it is missing, not an index, or names something that is not a plain file name.
    """
    files = read_json(path).get("weight_map")
    if not isinstance(files, dict):
        raise CheckpointError(path, "has no weight_map, an object from tensor names to file names")
    for name, file_name in files.items():
        if not is_simple_name(file_name):
            raise CheckpointError(
                path, f"places tensor {name!r} in {file_name!r}. Allowed: the name of a file in that folder."
            )
    return files


def _open_part(index: Path, file_name: str, names: list[str]) -> TensorFile:
    path = member(index.parent, file_name)
    if not path.is_file():
        raise CheckpointError(path, f"is missing; {index.name} places {len(names)} tensors there: {some(names)}")
    file = TensorFile(path)
    missing = [name for name in names if name not in file.header.tensors]
    if missing:
        raise CheckpointError(path, f"lacks {len(missing)} tensors that {index.name} places there: {some(missing)}")
    return file
