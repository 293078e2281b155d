"""Gaussian error linear unit. Legend: F inner dim, ... any leading dims."""

from mindspore import Tensor, ops

_gelu = ops.GeLU()


def gelu(x: Tensor) -> Tensor:
    """Half of x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), elementwise.

    Args:
        x: [..., F], float32.

    Returns:
        [..., F], float32.
    Source: Hendrycks and Gimpel 2016, Gaussian Error Linear Units, section 2 (the approximation with tanh).
    """
    return _gelu(x)
