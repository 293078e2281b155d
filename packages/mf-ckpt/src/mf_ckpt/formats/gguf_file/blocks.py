"""Element types of GGUF files: plain ones, and blocks in which several values share a scale."""

from dataclasses import dataclass

import numpy as np

from mf_ckpt.dtypes import Array
from mf_ckpt.tensor_info import TensorInfo
from mf_config.problems import UserError


@dataclass(frozen=True, slots=True)
class Block:
    """A quantised type: `values` elements of a row are stored in `nbytes` bytes."""

    values: int
    nbytes: int


BLOCKS = {
    "Q4_0": Block(32, 18),
    "Q4_1": Block(32, 20),
    "Q8_0": Block(32, 34),
    "Q4_K": Block(256, 144),
    "Q6_K": Block(256, 210),
}
"""The quantised types that are read."""

TYPE_NAMES = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    8: "Q8_0",
    12: "Q4_K",
    14: "Q6_K",
    24: "I8",
    25: "I16",
    26: "I32",
    27: "I64",
    28: "F64",
    30: "BF16",
}
"""The number of a type in the file to its name; plain types are called as in `mf_ckpt.dtypes`. Source: ggml.h."""


@dataclass(frozen=True, slots=True)
class QuantizedInfo(TensorInfo):
    """What is known of a quantised tensor: `dtype` is a name in `BLOCKS`, `shape` counts values."""

    @property
    def nbytes(self) -> int:
        """Stored size in bytes."""
        block = BLOCKS[self.dtype]
        return self.count // block.values * block.nbytes


def dequantize(blocks: Array, dtype: str) -> Array:
    """The values of whole blocks.

    Args:
        blocks: uint8, any leading dimensions, the last one a multiple of the block's bytes.
        dtype: a name in `BLOCKS`.

    Returns:
        float32 of the same leading dimensions; the last one counts values.

    Raises:
        UserError: the package `gguf` is not installed.
    """
    try:
        # An extra that few need, and slow to import: only a quantised tensor that is read asks for it.
        from gguf.constants import GGMLQuantizationType
        from gguf.quants import dequantize as dequantize_blocks
    except ImportError:
        raise UserError(
            f"reading {dtype} tensors needs the package gguf. Install it with: pip install 'mf-ckpt[gguf]'"
        ) from None
    if blocks.size == 0:
        # The package can't tell the shape of what has no elements.
        block = BLOCKS[dtype]
        return np.empty((*blocks.shape[:-1], blocks.shape[-1] // block.nbytes * block.values), np.float32)
    # A scale may be infinite in a damaged file; that shows in the values and needs no warning.
    with np.errstate(all="ignore"):
        values: Array = dequantize_blocks(np.ascontiguousarray(blocks), GGMLQuantizationType[dtype])
    return values
