"""Matrix product with a weight of 8-bit integers in blocks.

Legend: D input dim, F output dim, G blocks of a row, I = 32 integers of a block, ... any leading dims.
"""

import mindspore as ms
from mindspore import Tensor, ops

from mf_models.kernels.linear import linear

_cast = ops.Cast()


def int8_linear(x: Tensor, weight_FGI: Tensor, scale_FG: Tensor, offset_FG: Tensor | None = None) -> Tensor:
    """Multiply the last dim of `x` by a weight whose elements are integers times a scale, perhaps plus an offset.

    Args:
        x: [..., D] float32.
        weight_FGI: [F, G, 32] int8, G * 32 at least D; what stands behind D is not used.
        scale_FG: [F, G] float16, one for each block of 32.
        offset_FG: likewise; None for 0.

    Returns:
        [..., F] float32.
    """
    wide_FGI = _cast(weight_FGI, ms.float32) * _cast(scale_FG, ms.float32).expand_dims(2)
    if offset_FG is not None:
        wide_FGI = wide_FGI + _cast(offset_FG, ms.float32).expand_dims(2)
    return linear(x, wide_FGI.reshape((weight_FGI.shape[0], -1))[:, : x.shape[-1]])
