"""A head whose rows have length 1. Legend: D model dim, V vocabulary, ... any leading dims."""

import mindspore as ms
from mindspore import Parameter, Tensor, ops
from mindspore.common.initializer import initializer

from mf_models.kernels.select import select_kernels
from mf_models.layers.typed import Typed

_SMALLEST_SQUARE = 1e-24
"""Square of the length below which a row is stretched no further. Source: PyTorch, torch.nn.functional.normalize."""


class NormHead(Typed):
    """x W^T, where each row of W is divided by its length first; the weight is stored undivided, [out, in].

    Source: Yang et al. 2023, Baichuan 2, section 2.6 (NormHead).
    """

    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.weight = Parameter(initializer("zeros", (out_features, in_features), ms.float32))
        self.linear = select_kernels().linear
        self.rsqrt = ops.Rsqrt()
        self.square = ops.Square()

    def construct(self, x: Tensor) -> Tensor:
        """[..., D] to [..., V]."""
        weight_VD = self.weight if self.compute_type is None else self.weight.astype(ms.float32)
        squares_V1 = ops.maximum(self.square(weight_VD).sum(-1, keepdims=True), _SMALLEST_SQUARE)
        return self.linear(self.converted(x), self.converted(weight_VD * self.rsqrt(squares_V1)))
