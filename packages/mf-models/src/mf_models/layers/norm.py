"""Normalisation. Legend: D model dim, ... any leading dims."""

import mindspore as ms
from mindspore import Parameter, Tensor, nn
from mindspore.common.initializer import initializer

from mf_models.kernels.select import select_kernels


class RmsNorm(nn.Cell):
    """Root-mean-square norm with a learnt scale, which starts as ones."""

    def __init__(self, dim: int, epsilon: float):
        super().__init__()
        self.weight = Parameter(initializer("ones", (dim,), ms.float32))
        self.epsilon = epsilon
        self.rms_norm = select_kernels().rms_norm

    def construct(self, x: Tensor) -> Tensor:
        """[..., D] to [..., D], float32."""
        return self.rms_norm(x, self.weight, self.epsilon)
