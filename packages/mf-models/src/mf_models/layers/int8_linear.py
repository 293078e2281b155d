"""A projection whose weight is kept as 8-bit integers.

Legend: D input dim, F output dim, G blocks of a row, I = 32 integers of a block, ... any leading dims.
"""

from dataclasses import dataclass

import numpy as np
from mindspore import Parameter, Tensor, nn
from numpy.typing import NDArray

from mf_models.kernels.select import select_kernels

BLOCK = 32
"""Integers that share a scale."""

LARGEST = 127
"""Of the integers that weights are rounded to: the range is symmetric, so that no offset is needed."""

_SMALLEST_SCALE = 2.0**-24
"""The least number of half precision above 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IntegerBlocks:
    """A weight W = integers * the scale of their block, plus the offset of the block where there is one.

    Source: the formats Q8_0, Q4_0 (without offsets) and Q4_1 of llama.cpp.

    Attributes:
        integers_FGI: [F, G, 32] int8; what stands behind D is not used.
        scale_FG: [F, G] float16.
        offset_FG: [F, G] float16, or None.
        columns: D.
    """

    integers_FGI: NDArray[np.int8]
    scale_FG: NDArray[np.float16]
    offset_FG: NDArray[np.float16] | None = None
    columns: int

    def widened(self) -> NDArray[np.float32]:
        """The weight that they stand for, [F, D]."""
        wide = self.integers_FGI.astype(np.float32) * self.scale_FG.astype(np.float32)[..., None]
        if self.offset_FG is not None:
            wide += self.offset_FG.astype(np.float32)[..., None]
        return wide.reshape(len(wide), -1)[:, : self.columns]


class Int8Linear(nn.Cell):
    """x W^T with a weight of integers in blocks, plus a bias where there is one."""

    def __init__(self, blocks: IntegerBlocks, bias: Parameter | None = None):
        """Takes the weight, and the bias [F]."""
        super().__init__()
        self.in_features = blocks.columns
        self.weight = Parameter(Tensor(blocks.integers_FGI), requires_grad=False)
        self.scale = Parameter(Tensor(blocks.scale_FG), requires_grad=False)
        offset = blocks.offset_FG
        self.offset = None if offset is None else Parameter(Tensor(offset), requires_grad=False)
        self.bias = bias
        self.int8_linear = select_kernels().int8_linear

    def construct(self, x: Tensor) -> Tensor:
        """[..., D] to [..., F]."""
        y = self.int8_linear(x, self.weight, self.scale, self.offset)
        return y if self.bias is None else y + self.bias


def round_to_nearest(weight_FD: NDArray[np.float32]) -> IntegerBlocks:
    """The integers from -127 to 127, with a scale for each block, whose products are closest to a weight.

    Args:
        weight_FD: [F, D].

    Returns:
        Blocks whose integers behind D are 0. A block of zeros has the smallest scale.
    """
    rows, columns = weight_FD.shape
    padded = np.zeros((rows, -(-columns // BLOCK), BLOCK), np.float32)
    padded.reshape(rows, -1)[:, :columns] = weight_FD
    scale_FG = np.maximum(np.abs(padded).max(2) / LARGEST, _SMALLEST_SCALE).astype(np.float16)
    # By the scale as it is kept; rounding it down could take the largest integer out of the range.
    integers = np.rint(padded / scale_FG.astype(np.float32)[..., None]).clip(-LARGEST, LARGEST)
    return IntegerBlocks(integers_FGI=integers.astype(np.int8), scale_FG=scale_FG, columns=columns)
