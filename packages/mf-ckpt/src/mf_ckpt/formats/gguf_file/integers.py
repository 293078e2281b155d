"""Blocks of GGUF files taken apart instead of expanded: integers, a scale for each 32 of them, in some types an offset.

Source: ggml-quants.c in the repository of ggml.
"""

import numpy as np

from mf_ckpt.dtypes import Array
from mf_ckpt.formats.gguf_file.blocks import BLOCKS
from mf_ckpt.formats.gguf_file.source import GgufTensors
from mf_ckpt.sources.source import Slices, TableSource, bounded
from mf_ckpt.tensor_info import TensorInfo

_PARTS = {
    "Q8_0": ("integers", "scales"),
    "Q4_0": ("integers", "scales"),
    "Q4_1": ("integers", "scales", "offsets"),
}
"""The types that can be taken apart, and what their blocks hold."""

_VALUES = 32
"""Of a block of any of these types."""

_HALF = 2
"""Bytes of a scale or an offset, which are of half precision."""


class BlockPart(TableSource[TensorInfo]):
    """One part of the blocks of a file's tensors, under the tensors' names: value = integer * scale + offset.

    Tensors of other types, or whose blocks have no such part, are left out. Integers are int8 in the tensor's shape;
    scales and offsets are float16, and their last dimension counts blocks of 32 values.
    """

    def __init__(self, tensors: GgufTensors, part: str):
        """Takes the open file, and the part: `integers`, `scales` or `offsets`."""
        infos = {name: tensors.info(name) for name in tensors}
        table = {name: _info(info, part) for name, info in infos.items() if part in _PARTS.get(info.dtype, ())}
        super().__init__(table, str(tensors.path))
        self._tensors = tensors
        self._part = part

    def info(self, name: str) -> TensorInfo:
        """I8 or F16, and the shape; see `Source.info`."""
        return self._entry(name)

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """The numbers of a part of a tensor; see `Source.raw`."""
        full = bounded(name, slices, self._entry(name).shape)
        dtype = self._tensors.info(name).dtype
        rows = self._tensors.raw(name, full[:-1])
        blocks = rows.reshape(*rows.shape[:-1], -1, BLOCKS[dtype].nbytes)
        numbers = _integers(blocks, dtype) if self._part == "integers" else _halves(blocks, self._part)
        flat: Array = numbers.reshape(*rows.shape[:-1], -1)
        return flat[..., full[-1]]


def _info(info: TensorInfo, part: str) -> TensorInfo:
    if part == "integers":
        return TensorInfo("I8", info.shape)
    return TensorInfo("F16", (*info.shape[:-1], info.shape[-1] // _VALUES))


def _halves(blocks: Array, part: str) -> Array:
    """The scales or offsets, [..., blocks, 1], of blocks [..., blocks, bytes]."""
    begin = _HALF if part == "offsets" else 0
    return np.ascontiguousarray(blocks[..., begin : begin + _HALF]).view("<f2")


def _integers(blocks: Array, dtype: str) -> Array:
    """The integers, int8 [..., blocks, 32], of blocks [..., blocks, bytes]."""
    bits = np.ascontiguousarray(blocks[..., _HALF * (len(_PARTS[dtype]) - 1) :]).view(np.uint8)
    if dtype == "Q8_0":
        return bits.view(np.int8)
    # The lower halves of all bytes, then the upper ones.
    nibbles = np.concatenate((bits & 15, bits >> 4), -1).view(np.int8)
    return nibbles - np.int8(8) if dtype == "Q4_0" else nibbles
