"""Layer normalisation. Legend: D model dim, ... any leading dims."""

from mindspore import Tensor, ops

_mean = ops.ReduceMean(keep_dims=True)
_rsqrt = ops.Rsqrt()
_square = ops.Square()


def layer_norm(x: Tensor, weight_D: Tensor, bias_D: Tensor, epsilon: float) -> Tensor:
    """(x - mean(x)) / sqrt(variance(x) + epsilon) * weight + bias, over the last dim.

    Args:
        x: [..., D], float32.
        weight_D: [D], float32.
        bias_D: [D], float32.
        epsilon: above 0.

    Returns:
        [..., D], float32.
    Source: Ba et al. 2016, Layer Normalization, equation 3.
    """
    centred = x - _mean(x, -1)
    return centred * _rsqrt(_mean(_square(centred), -1) + epsilon) * weight_D + bias_D
