"""The pieces of optimizers that keep a moment of a matrix as means of its rows and of its columns.

Legend: R rows, C columns of a matrix; dims before them, such as that of experts, count matrices.
"""

from mindspore import Parameter, Tensor, ops

_sqrt = ops.Sqrt()
_rsqrt = ops.Rsqrt()
_maximum = ops.Maximum()
_ones_like = ops.OnesLike()


def moving_mean(mean: Parameter, value: Tensor, decay: float | Tensor) -> Tensor:
    """Take a value into a moving mean, in place.

    Args:
        mean: any shape, float32.
        value: shaped like it.
        decay: share of the former mean that is kept, a number or a scalar.

    Returns:
        The new mean, shaped like it, which depends on the change.
    """
    new = mean * decay + value * (1.0 - decay)
    return ops.depend(new, ops.assign(mean, new))


def inverse_root(moments: tuple[Parameter, ...], squares: Tensor, decay: float | Tensor) -> Tensor:
    """Take squares into moving means, in place, and give one over the root of what these stand for.

    Args:
        moments: the mean of each row [..., R] and of each column [..., C], float32; or the mean of each element [...].
        squares: [..., R, C], or [...].
        decay: share of the former means that is kept, a number or a scalar.

    Returns:
        Shaped like `squares`. Of rows r and columns c it is 1 / sqrt(r c / mean(r)).
    Source: Shazeer and Stern 2018, Adafactor, algorithm 4.
    """
    if len(moments) == 1:
        return _rsqrt(moving_mean(moments[0], squares, decay))
    rows = moving_mean(moments[0], squares.mean(-1), decay)
    columns = moving_mean(moments[1], squares.mean(-2), decay)
    relative = rows / rows.mean(-1, keep_dims=True)
    return _rsqrt(relative).expand_dims(-1) * _rsqrt(columns).expand_dims(-2)


def scale_of(parameter: Parameter, least: float) -> Tensor:
    """The root mean square of a parameter's elements, at least `least`; a scalar, float32.

    Args:
        parameter: any shape, float32.
        least: so that a parameter that is zero can move.
    Source: Shazeer and Stern 2018, Adafactor, section 8.
    """
    scale = _root_mean_square(parameter)
    return _maximum(scale, _ones_like(scale) * least)


def limit_root_mean_square(x: Tensor, largest: float) -> Tensor:
    """The same tensor, of any shape, made smaller where the root mean square of its elements exceeds `largest`.

    Source: Shazeer and Stern 2018, Adafactor, section 6.
    """
    excess = _root_mean_square(x) / largest
    return x / _maximum(excess, _ones_like(excess))


def _root_mean_square(x: Tensor) -> Tensor:
    """Of all elements of a tensor of any shape; a scalar."""
    return _sqrt((x * x).mean())


def subtract(parameter: Parameter, change: Tensor, decay: Tensor) -> Tensor:
    """Make a parameter smaller by a change, and by a share of itself, in place.

    Args:
        parameter: any shape, float32.
        change: shaped like it.
        decay: the share, a scalar.

    Returns:
        A tensor that depends on the change: make the step's output depend on it (`ops.depend`).
    """
    return ops.assign(parameter, parameter - parameter * decay - change)
