"""Linear projection. Legend: D input dim, F output dim, ... any leading dims."""

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import initializer

from mf_models.kernels.select import select_kernels
from mf_models.layers.typed import Typed

ADAPTER = "adapter"
"""Part of the name of every parameter that a `Linear` gets from outside, such as `layers.0.attention.wq.adapter.a`."""


class Linear(Typed):
    """x W^T, plus a bias where asked for; all starts as zeros (see `mf_models.initializers`).

    The weight is stored [out, in].

    Attributes:
        adapter: None, or a cell from [..., D] to [..., F] whose result is added; it is set from outside, before the
            cell is compiled (see `mf_models.pet`).
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = False):
        super().__init__()
        self.weight = Parameter(initializer("zeros", (out_features, in_features), ms.float32))
        self.bias = Parameter(initializer("zeros", (out_features,), ms.float32)) if bias else None
        self.adapter: nn.Cell | None = None
        self.linear = select_kernels().linear
        self.add = ops.Add()

    def construct(self, x: Tensor) -> Tensor:
        """[..., D] to [..., F]."""
        x = self.converted(x)
        y = self.linear(x, self.converted(self.weight))
        if self.bias is not None:
            y = self.add(y, self.converted(self.bias))
        return y if self.adapter is None else y + self.adapter(x)
