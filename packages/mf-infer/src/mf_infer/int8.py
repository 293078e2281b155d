"""Weights as 8-bit integers with one scale for each output, rounded to nearest.

Legend: D input dim, F output dim, ... any leading dims.
"""

from collections.abc import Collection

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from numpy.typing import NDArray

from mf_models.kernels.select import select_kernels
from mf_models.layers.linear import Linear

LARGEST = 127
"""Of the integers: the range is symmetric, so that no zero point is needed."""

LEFT_AS_IT_IS = ("lm_head", "lkv2kv")
"""The head, which decides between close tokens and may be the embedding's matrix, and the matrix of latent attention
that is not always used as a product."""


class Int8Linear(nn.Cell):
    """x W^T with W = scale * integers, plus a bias where there is one.

    The integers are widened when the product is computed: they save memory, not time.
    Source: Jacob et al. 2018, Quantization and Training of Neural Networks, section 2.1, with a scale for each output.
    """

    def __init__(self, linear: Linear):
        """Takes over a filled layer."""
        super().__init__()
        integers_FD, scale_F = round_to_nearest(linear.weight.asnumpy())
        self.weight = Parameter(Tensor(integers_FD), requires_grad=False)
        self.scale = Parameter(Tensor(scale_F), requires_grad=False)
        self.bias = linear.bias
        self.linear = select_kernels().linear
        self.cast = ops.Cast()

    def construct(self, x: Tensor) -> Tensor:
        """[..., D] to [..., F]."""
        y = self.linear(x, self.cast(self.weight, ms.float32)) * self.scale
        return y if self.bias is None else y + self.bias


def round_to_nearest(weight_FD: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Integers [F, D] and scales [F] whose products are closest to a weight; a row of zeros has scale 1."""
    scale_F = (np.abs(weight_FD).max(1) / LARGEST).astype(np.float32)
    # Below the smallest normal number a scale is itself too coarse, and such a row is as good as zeros.
    scale_F = np.where(scale_F < np.finfo(np.float32).tiny, np.float32(1), scale_F)
    return np.rint(weight_FD / scale_F[:, None]).astype(np.int8), scale_F


def quantize(cell: nn.Cell, keep: Collection[str] = LEFT_AS_IT_IS) -> None:
    """Put an `Int8Linear` in the place of each `Linear` of a filled model.

    Args:
        cell: the model.
        keep: names of layers, or parts of their paths, that stay as they are.
    """
    for path, parent in list(cell.cells_and_names()):
        for name, child in list(parent.name_cells().items()):
            whole = f"{path}.{name}".strip(".")
            if type(child) is Linear and not set(keep) & {whole, *whole.split(".")}:
                setattr(parent, name, Int8Linear(child))


def weight_bytes(cell: nn.Cell) -> int:
    """Memory of all parameters of a model."""
    return sum(parameter.nbytes for parameter in cell.get_parameters())
