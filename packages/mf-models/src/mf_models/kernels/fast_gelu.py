"""Gaussian error linear unit by a sigmoid. Legend: F inner dim, ... any leading dims."""

from mindspore import Tensor, ops

_SLOPE = 1.702

_sigmoid = ops.Sigmoid()


def fast_gelu(x: Tensor) -> Tensor:
    """x * sigmoid(1.702 x), elementwise.

    Args:
        x: [..., F], float32.

    Returns:
        [..., F], float32.
    Source: Hendrycks and Gimpel 2016, Gaussian Error Linear Units, section 2 (the approximation with a sigmoid).
    """
    return x * _sigmoid(x * _SLOPE)
