"""Normalisation. Legend: D model dim, ... any leading dims."""

from collections.abc import Callable

import mindspore as ms
from mindspore import Parameter, Tensor, nn
from mindspore.common.initializer import initializer

from mf_models.kernels.select import select_kernels
from mf_models.layers.typed import Typed


class _Norm(Typed):
    """What norms share: they compute in a type of their own, and give back that of what comes in."""

    computed_as, stored_as = "norms", "norms"

    def construct(self, x: Tensor) -> Tensor:
        """[..., D] to [..., D], in the type of `x`."""
        if self.compute_type is None:
            return self.normed(x)
        return self.normed(x.astype(self.compute_type)).astype(x.dtype)

    def normed(self, x: Tensor) -> Tensor:
        """[..., D] to [..., D], in the type of the weights."""
        raise NotImplementedError


class RmsNorm(_Norm):
    """Root-mean-square norm with a learnt scale, which starts as ones."""

    def __init__(self, dim: int, epsilon: float):
        super().__init__()
        self.weight = Parameter(initializer("ones", (dim,), ms.float32))
        self.epsilon = epsilon
        self.rms_norm = select_kernels().rms_norm

    def normed(self, x: Tensor) -> Tensor:
        """See `_Norm.normed`."""
        return self.rms_norm(x, self.weight, self.epsilon)


class ShiftedRmsNorm(_Norm):
    """Root-mean-square norm whose scale is 1 plus a learnt number, which starts as zero.

    Source: Gemma Team 2024, Gemma, and the code published with it.
    """

    def __init__(self, dim: int, epsilon: float):
        super().__init__()
        self.shift = Parameter(initializer("zeros", (dim,), ms.float32))
        self.epsilon = epsilon
        self.rms_norm = select_kernels().rms_norm

    def normed(self, x: Tensor) -> Tensor:
        """See `_Norm.normed`."""
        # MindSpore can't fold the constant 1 into a bfloat16 vector; the published code adds in float32 too.
        scale = 1.0 + self.shift.astype(ms.float32)
        return self.rms_norm(x, scale.astype(x.dtype), self.epsilon)


class LayerNorm(_Norm):
    """Norm to mean 0 and variance 1, with a learnt scale and bias, which start as ones and zeros."""

    def __init__(self, dim: int, epsilon: float):
        super().__init__()
        self.weight = Parameter(initializer("ones", (dim,), ms.float32))
        self.bias = Parameter(initializer("zeros", (dim,), ms.float32))
        self.epsilon = epsilon
        self.layer_norm = select_kernels().layer_norm

    def normed(self, x: Tensor) -> Tensor:
        """See `_Norm.normed`."""
        return self.layer_norm(x, self.weight, self.bias, self.epsilon)


NORMS: dict[str, Callable[[int, float], nn.Cell]] = {
    "rms": RmsNorm,
    "shifted_rms": ShiftedRmsNorm,
    "layer": LayerNorm,
}
"""The kinds of norms by the names that `DecoderConfig.norm` has for them; each takes a width and an epsilon."""
