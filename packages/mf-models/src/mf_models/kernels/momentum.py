"""Gradient descent, with or without momentum."""

from mindspore import Parameter, Tensor, ops

MomentumRates = tuple[Tensor, Tensor]


def momentum_rates(step: Tensor, learning_rate: Tensor, dampening: float) -> MomentumRates:
    """What `momentum_update` needs of one step; the same for all parameters.

    Args:
        step: scalar float32, number of this update, 1 for the first.
        learning_rate: scalar float32.
        dampening: share of the gradient that momentum leaves out after the first update, from 0 to 1.

    Returns:
        Two scalars, float32: the learning rate, and the share of the gradient that momentum takes in.
    """
    later = ops.cast(step > 1, step.dtype)
    return learning_rate, 1.0 - later * dampening


def momentum_update(
    parameter: Parameter,
    slots: tuple[Parameter, ...],
    gradient: Tensor,
    rates: MomentumRates,
    momentum: float,
    weight_decay: float,
    nesterov: bool,
) -> Tensor:
    """Update one parameter and its slot in place.

    Args:
        parameter: any shape, float32.
        slots: the former changes, shaped like the parameter, zeros before the first update; none for plain gradient
            descent, where `momentum` and `nesterov` have no influence.
        gradient: shaped like the parameter.
        rates: result of `momentum_rates`.
        momentum: share of the former changes that is kept.
        weight_decay: `weight_decay * parameter` is added to the gradient. 0 for none.
        nesterov: look ahead along the momentum.

    Returns:
        A tensor that depends on the changes: make the step's output depend on it (`ops.depend`).
    Source: mindspore.nn.SGD and mindspore.nn.Momentum; Sutskever et al. 2013, On the importance of initialization and
        momentum in deep learning.
    """
    learning_rate, share = rates
    if weight_decay != 0.0:
        gradient = gradient + parameter * weight_decay
    if len(slots) == 0:
        return ops.assign(parameter, parameter - learning_rate * gradient)
    kept = slots[0] * momentum + gradient * share
    change = kept
    if nesterov:
        change = gradient + kept * momentum
    done = ops.assign(parameter, parameter - learning_rate * change)
    return ops.depend(done, ops.assign(slots[0], kept))
