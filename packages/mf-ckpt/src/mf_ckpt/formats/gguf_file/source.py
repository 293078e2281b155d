"""Reads the tensors of a GGUF file, mapped into memory; quantised ones are expanded block by block."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from mf_ckpt.disk.files import CheckpointError
from mf_ckpt.disk.memory_map import map_bytes, map_file
from mf_ckpt.dtypes import Array
from mf_ckpt.formats.gguf_file.blocks import BLOCKS, dequantize
from mf_ckpt.formats.gguf_file.header import Value, read_header
from mf_ckpt.sources.source import Slices, TableSource, bounded, part, storage
from mf_ckpt.tensor_info import TensorInfo
from mf_config.problems import UserError


class GgufTensors(TableSource[TensorInfo]):
    """The tensors of one GGUF file, under the names and in the layouts that the file has.

    `info` gives a `QuantizedInfo` for a quantised tensor: its type is `Q4_1` or another of `gguf_file.blocks.BLOCKS`.
    `read` expands it to float32; `raw` gives its blocks, uint8, where the last dimension counts bytes.

    Attributes:
        path: the file.
        metadata: its entries as plain values: hyperparameters, tokenizer, chat template.
    """

    def __init__(self, path: Path):
        """Takes a file and checks its header; raises `CheckpointError` where it is damaged."""
        with map_file(path) as data:
            try:
                header = read_header(data)
            except UserError as error:
                raise CheckpointError(path, str(error)) from None
        super().__init__(header.tensors, str(path))
        self.path = path
        self.metadata: Mapping[str, Value] = header.metadata
        self._begins = header.begins

    def info(self, name: str) -> TensorInfo:
        """Stored type and shape; see `Source.info`."""
        return self._entry(name)

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """The stored bits or blocks of a tensor or a part of it.

        Args:
            name: the tensor.
            slices: count values, as for `read`; of a quantised tensor the last dimension is cut between blocks only.

        Returns:
            A read-only view; of a quantised tensor the blocks, uint8, the last dimension in bytes.

        Raises:
            TensorNotFoundError: there is no tensor of that name.
            ValueError: a slice leaves the tensor, or cuts a block.
        """
        info = self._entry(name)
        full = bounded(name, slices, info.shape)
        content = map_bytes(self.path, self._begins[name], info.nbytes)
        if info.dtype not in BLOCKS:
            whole = content.view(storage(info)).reshape(info.shape)
            return np.require(part(whole, full), requirements="A")
        block, last = BLOCKS[info.dtype], full[-1]
        if last.start % block.values or last.stop % block.values:
            raise ValueError(f"tensor {name!r}: {last} cuts a block of {block.values} values")
        row_bytes = info.shape[-1] // block.values * block.nbytes
        columns = slice(last.start // block.values * block.nbytes, last.stop // block.values * block.nbytes)
        return part(content.reshape(*info.shape[:-1], row_bytes), (*full[:-1], columns))

    def read(self, name: str, slices: Slices = ()) -> Array:
        """The values of a tensor or a part of it, float32 where it is quantised or BF16; see `Source.read`.

        Raises:
            TensorNotFoundError: there is no tensor of that name.
            ValueError: a slice leaves the tensor.
            UserError: the tensor is quantised, and the package `gguf` is not installed.
        """
        info = self._entry(name)
        if info.dtype not in BLOCKS:
            return super().read(name, slices)
        full = bounded(name, slices, info.shape)
        step, last = BLOCKS[info.dtype].values, full[-1]
        start = last.start // step * step
        covering = slice(start, -(-last.stop // step) * step)
        values = dequantize(self.raw(name, (*full[:-1], covering)), info.dtype)
        return values[..., last.start - start : last.stop - start]


def is_gguf(path: Path) -> bool:
    """Whether a path is a file whose name says that it is a GGUF file."""
    return path.name.endswith(".gguf") and path.is_file()


def open_gguf(path: str | Path) -> GgufTensors:
    """Open a GGUF file; its header is checked, no tensor is read.

    Args:
        path: the file. It must not change while the tensors are in use.

    Returns:
        Its tensors and its metadata.

    Raises:
        CheckpointError: the file is missing or damaged, or has a tensor of a type that isn't read.
    """
    return GgufTensors(Path(path))
