"""Normalisation by RmsNorm and LayerNormExt. Legend: D model dim, ... any leading dims."""

from mindspore import Tensor, ops


def rms_norm(x: Tensor, weight_D: Tensor, epsilon: float) -> Tensor:
    """As `mf_models.kernels.rms_norm.rms_norm`; [..., D] to [..., D]."""
    return ops.rms_norm(x, weight_D, epsilon)[0]


def layer_norm(x: Tensor, weight_D: Tensor, bias_D: Tensor, epsilon: float) -> Tensor:
    """As `mf_models.kernels.layer_norm.layer_norm`; [..., D] to [..., D]."""
    return ops.layer_norm(x, weight_D.shape, weight_D, bias_D, epsilon)
