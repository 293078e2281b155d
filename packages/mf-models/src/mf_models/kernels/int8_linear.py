"""Matrix product with a weight of 8-bit integers in blocks.

Legend: D input dim, F output dim, G blocks of a row, I = 32 integers of a block, ... any leading dims.
"""

import mindspore as ms
from mindspore import Tensor, ops

from mf_models.kernels.linear import linear

_cast = ops.Cast()


def int8_linear(x: Tensor, weight_FGI: Tensor, scale_FG: Tensor) -> Tensor:
    """Multiply the last dim of `x` by a weight whose elements are integers times the scale of their block.

    Args:
        x: [..., D] float32.
        weight_FGI: [F, G, 32] int8, G * 32 at least D; what stands behind D is 0.
        scale_FG: [F, G] float16.

    Returns:
        [..., F] float32.
    """
    scale_FG1 = _cast(scale_FG, ms.float32).expand_dims(2)
    wide_FD = (_cast(weight_FGI, ms.float32) * scale_FG1).reshape((weight_FGI.shape[0], -1))
    return linear(x, wide_FD[:, : x.shape[-1]])
