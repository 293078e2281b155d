"""Linear projection. Legend: D input dim, F output dim, ... any leading dims."""

import mindspore as ms
from mindspore import Parameter, Tensor, nn
from mindspore.common.initializer import initializer

from mf_models.kernels.select import select_kernels


class Linear(nn.Cell):
    """x W^T, plus a bias where asked for; all starts as zeros (see `mf_models.initializers`).

    The weight is stored [out, in].
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = False):
        super().__init__()
        self.weight = Parameter(initializer("zeros", (out_features, in_features), ms.float32))
        self.bias = Parameter(initializer("zeros", (out_features,), ms.float32)) if bias else None
        self.linear = select_kernels().linear

    def construct(self, x: Tensor) -> Tensor:
        """[..., D] to [..., F]."""
        y = self.linear(x, self.weight)
        return y if self.bias is None else y + self.bias
