"""Euclidean norm over many tensors."""

from mindspore import Tensor, ops

_square = ops.Square()
_sum = ops.ReduceSum()
_add_n = ops.AddN()
_sqrt = ops.Sqrt()


def global_norm(tensors: tuple[Tensor, ...]) -> Tensor:
    """Sqrt of the sum of the squares of all elements.

    Args:
        tensors: at least one tensor of any shape, float32.

    Returns:
        Scalar, float32.
    """
    squares: tuple[Tensor, ...] = ()
    for tensor in tensors:
        squares = (*squares, _sum(_square(tensor)))
    return _sqrt(_add_n(squares))
