"""Matrix product with a weight stored [out, in]. Legend: D input dim, F output dim, ... any leading dims."""

from mindspore import Tensor, ops

# One 2-D product; products of more dims are slower on CPU.
_matmul = ops.MatMul(transpose_b=True)


def linear(x: Tensor, weight_FD: Tensor) -> Tensor:
    """Multiply the last dim of `x` by a weight.

    Args:
        x: [..., D].
        weight_FD: [F, D], same dtype as `x`.

    Returns:
        [..., F], dtype of `x`.
    """
    y = _matmul(x.reshape((-1, x.shape[-1])), weight_FD)
    return y.reshape((*x.shape[:-1], weight_FD.shape[0]))
