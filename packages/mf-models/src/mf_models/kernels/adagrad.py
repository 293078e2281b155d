"""Gradient descent whose rate falls with the sum of squared gradients."""

from mindspore import Parameter, Tensor, ops

_SMALLEST_SUM = 1e-37
"""Where a sum is 0 every gradient was, so the step is 0 too; above the smallest float32 that is not denormal."""

_maximum = ops.Maximum()
_rsqrt = ops.Rsqrt()


def adagrad_update(
    parameter: Parameter,
    squares: Parameter,
    gradient: Tensor,
    learning_rate: Tensor,
    weight_decay: float,
    goes_on: bool,
) -> Tensor:
    """Update one parameter and its sums in place.

    Args:
        parameter: any shape, float32.
        squares: the sums of squared gradients, shaped like the parameter.
        gradient: shaped like the parameter.
        learning_rate: scalar float32.
        weight_decay: `weight_decay * parameter` is added to the gradient. 0 for none.
        goes_on: whether this gradient is added to the sums.

    Returns:
        A tensor that depends on the changes: make the step's output depend on it (`ops.depend`).
    Source: Duchi et al. 2011, Adaptive Subgradient Methods, figure 1, in the form of mindspore.nn.Adagrad.
    """
    if weight_decay != 0.0:
        gradient = gradient + parameter * weight_decay
    new = squares
    if goes_on:
        new = squares + gradient * gradient
    done = ops.assign(parameter, parameter - learning_rate * gradient * _rsqrt(_maximum(new, _SMALLEST_SUM)))
    return ops.depend(done, ops.assign(squares, new))
