"""A projection whose weight is kept as 8-bit integers.

Legend: D input dim, F output dim, G blocks of a row, I = 32 integers of a block, ... any leading dims.
"""

import numpy as np
from mindspore import Parameter, Tensor, nn
from numpy.typing import NDArray

from mf_models.kernels.select import select_kernels

BLOCK = 32
"""Integers that share a scale."""

LARGEST = 127
"""Of the integers: the range is symmetric, so that no zero point is needed."""

_LARGEST_OF_FORMATS = (LARGEST, 8)
"""Of the integers of a block in llama.cpp's formats Q8_0 and Q4_0: the scale is chosen so that it occurs."""

_SMALLEST_SCALE = 2.0**-24
"""The least number of half precision above 0."""


class Int8Linear(nn.Cell):
    """x W^T with W = integers * the scale of their block, plus a bias where there is one.

    Source: the format Q8_0 of llama.cpp: blocks of 32 integers, with a scale of half precision for each.
    """

    def __init__(self, weight_FD: NDArray[np.float32], bias: Parameter | None = None, largest: int = LARGEST):
        """Takes the weight, which is rounded, the bias, which is not, and the largest integer of each block."""
        super().__init__()
        integers_FGI, scale_FG = round_to_nearest(weight_FD, largest)
        self.in_features = weight_FD.shape[1]
        self.weight = Parameter(Tensor(integers_FGI), requires_grad=False)
        self.scale = Parameter(Tensor(scale_FG), requires_grad=False)
        self.bias = bias
        self.int8_linear = select_kernels().int8_linear

    def construct(self, x: Tensor) -> Tensor:
        """[..., D] to [..., F]."""
        y = self.int8_linear(x, self.weight, self.scale)
        return y if self.bias is None else y + self.bias


def largest_integer(weight_FD: NDArray[np.float32]) -> int | None:
    """The largest integer of each block of a weight that `round_to_nearest` does not change; None where it would.

    Such are the weights that a program has read from blocks of llama.cpp's formats Q8_0 and Q4_0.

    Args:
        weight_FD: [F, D].
    """
    for largest in _LARGEST_OF_FORMATS:
        # The first rows tell most weights apart.
        if all(_is_kept(rows, largest) for rows in (weight_FD[:1], weight_FD)):
            return largest
    return None


def _is_kept(weight_FD: NDArray[np.float32], largest: int) -> bool:
    return np.array_equal(widened(*round_to_nearest(weight_FD, largest), weight_FD.shape[1]), weight_FD)


def round_to_nearest(
    weight_FD: NDArray[np.float32], largest: int = LARGEST
) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Integers and scales whose products are closest to a weight.

    Args:
        weight_FD: [F, D].
        largest: of the integers of each block, at most 127.

    Returns:
        [F, G, 32] and [F, G]; behind D the integers are 0. A block of zeros has the smallest scale.
    """
    rows, columns = weight_FD.shape
    padded = np.zeros((rows, -(-columns // BLOCK), BLOCK), np.float32)
    padded.reshape(rows, -1)[:, :columns] = weight_FD
    scale_FG = np.maximum(np.abs(padded).max(2) / largest, _SMALLEST_SCALE).astype(np.float16)
    # By the scale as it is kept; rounding it down could take the largest integer out of the range.
    integers = np.rint(padded / scale_FG.astype(np.float32)[..., None]).clip(-largest, largest)
    return integers.astype(np.int8), scale_FG


def widened(integers_FGI: NDArray[np.int8], scale_FG: NDArray[np.float16], columns: int) -> NDArray[np.float32]:
    """The weight that integers and scales stand for, [F, columns]."""
    wide = integers_FGI.astype(np.float32) * scale_FG.astype(np.float32)[..., None]
    return wide.reshape(len(wide), -1)[:, :columns]
