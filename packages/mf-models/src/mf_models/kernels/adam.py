"""Adam whose weight decay is a part of the gradient."""

from mindspore import Parameter, Tensor, ops

from mf_models.kernels.adamw import Rates, adamw_update

_maximum = ops.Maximum()
_sqrt = ops.Sqrt()


def adam_update(
    parameter: Parameter,
    slots: tuple[Parameter, ...],
    gradient: Tensor,
    rates: Rates,
    betas: tuple[float, float],
    weight_decay: float,
    nesterov: bool,
) -> Tensor:
    """Update one parameter and its slots in place.

    Args:
        parameter: any shape, float32.
        slots: first and second moment, shaped like the parameter, zeros before the first update. With a third one,
            the largest second moment so far stands below the root (AMSGrad).
        gradient: shaped like the parameter.
        rates: result of `adamw_rates_raw_epsilon`; its last scalar has no influence.
        betas: the same as given to that function.
        weight_decay: `weight_decay * parameter` is added to the gradient. 0 for none.
        nesterov: look ahead along the first moment.

    Returns:
        A tensor that depends on the changes: make the step's output depend on it (`ops.depend`).
    Source: Kingma and Ba 2015, Adam, algorithm 1; Reddi et al. 2018, On the Convergence of Adam and Beyond, algorithm
        2; Dozat 2016, Incorporating Nesterov Momentum into Adam, in the form of mindspore.nn.Adam.
    """
    learning_rate, epsilon, _ = rates
    beta1, beta2 = betas
    if weight_decay != 0.0:
        gradient = gradient + parameter * weight_decay
    if len(slots) == 2 and not nesterov:
        # The fused operator is five times faster on CPU.
        return adamw_update(parameter, slots, gradient, rates, betas, 0.0)
    first = slots[0] * beta1 + gradient * (1.0 - beta1)
    second = slots[1] * beta2 + gradient * gradient * (1.0 - beta2)
    below = second
    if len(slots) == 3:
        below = _maximum(slots[2], second)
    direction = first
    if nesterov:
        direction = first * beta1 + gradient * (1.0 - beta1)
    done = ops.assign(parameter, parameter - learning_rate * direction / (_sqrt(below) + epsilon))
    done = ops.depend(done, ops.assign(slots[0], first))
    done = ops.depend(done, ops.assign(slots[1], second))
    if len(slots) == 3:
        done = ops.depend(done, ops.assign(slots[2], below))
    return done
