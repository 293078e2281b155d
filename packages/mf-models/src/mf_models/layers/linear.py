"""Linear projection. Legend: D input dim, F output dim, ... any leading dims."""

import mindspore as ms
from mindspore import Parameter, Tensor, nn
from mindspore.common.initializer import initializer

from mf_models.kernels.select import select_kernels


class Linear(nn.Cell):
    """x W^T without a bias; the weight is stored [out, in] and starts as zeros (see `mf_models.initializers`)."""

    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.weight = Parameter(initializer("zeros", (out_features, in_features), ms.float32))
        self.linear = select_kernels().linear

    def construct(self, x: Tensor) -> Tensor:
        """[..., D] to [..., F]."""
        return self.linear(x, self.weight)
