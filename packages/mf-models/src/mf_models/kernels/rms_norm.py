"""Root-mean-square normalisation. Legend: D model dim, ... any leading dims."""

from mindspore import Tensor, ops

_mean = ops.ReduceMean(keep_dims=True)
_rsqrt = ops.Rsqrt()
_square = ops.Square()


def rms_norm(x: Tensor, weight_D: Tensor, epsilon: float) -> Tensor:
    """X / sqrt(mean(x^2) + epsilon) * weight, over the last dim.

    Automatic gradients are as fast on CPU as a hand-written backward, so there is none.

    Args:
        x: [..., D], float32.
        weight_D: [D], float32.
        epsilon: above 0.

    Returns:
        [..., D], float32.
    Source: Zhang and Sennrich 2019, Root Mean Square Layer Normalization, equation 4.
    """
    return x * _rsqrt(_mean(_square(x), -1) + epsilon) * weight_D
