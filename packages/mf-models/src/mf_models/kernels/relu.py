"""Rectified linear unit. Legend: F inner dim, ... any leading dims."""

from mindspore import Tensor, ops

_relu = ops.ReLU()


def relu(x: Tensor) -> Tensor:
    """The larger of x and 0, elementwise.

    Args:
        x: [..., F], float32.

    Returns:
        [..., F], float32.
    Source: Nair and Hinton 2010, Rectified Linear Units Improve Restricted Boltzmann Machines, section 2.
    """
    return _relu(x)
