"""Adam with decoupled weight decay by MindSpore's fused operator.

The operator knows no bias correction. The optimizers of this shape differ in the correction alone, so each has a
function of its own for the rates that are passed to it.
"""

import math

from mindspore import Parameter, Tensor, ops

Rates = tuple[Tensor, Tensor, Tensor]

_update = ops.AdamWeightDecay()
_expm1 = ops.Expm1()
_sqrt = ops.Sqrt()
_ones_like = ops.OnesLike()


def adamw_rates(step: Tensor, learning_rate: Tensor, betas: tuple[float, float], epsilon: float) -> Rates:
    """What `adamw_update` needs of one step; the same for all parameters.

    With c1 = 1 - beta1^t and c2 = 1 - beta2^t, the corrected step lr * (m / c1) / (sqrt(v / c2) + epsilon) equals
    (lr * sqrt(c2) / c1) * m / (sqrt(v) + epsilon * sqrt(c2)).

    Args:
        step: scalar float32, number of this update, 1 for the first.
        learning_rate: scalar float32.
        betas: decay of the first and the second moment, from 0, below 1.
        epsilon: added to the root of the corrected second moment.

    Returns:
        Three scalars, float32: the operator's learning rate, its epsilon, and the factor of the weight decay.
    Source: Loshchilov and Hutter 2019, Decoupled Weight Decay Regularization, algorithm 2.
    """
    correction1 = -_expm1(step * math.log(betas[0])) if betas[0] > 0 else step / step
    correction2 = -_expm1(step * math.log(betas[1])) if betas[1] > 0 else step / step
    root2 = _sqrt(correction2)
    return learning_rate * root2 / correction1, epsilon * root2, correction1 / root2


def adamw_rates_raw_epsilon(step: Tensor, learning_rate: Tensor, betas: tuple[float, float], epsilon: float) -> Rates:
    """As `adamw_rates`, but `epsilon` is added to the root of the second moment before its bias is corrected.

    Args:
        step: scalar float32, number of this update, 1 for the first.
        learning_rate: scalar float32.
        betas: decay of the first and the second moment, from 0, below 1.
        epsilon: added to the root of the second moment.

    Returns:
        Three scalars, float32: as of `adamw_rates`.
    Source: Kingma and Ba 2015, Adam, the note at the end of section 2.
    """
    rate, _, decay_factor = adamw_rates(step, learning_rate, betas, epsilon)
    return rate, _scalar(epsilon, learning_rate), decay_factor


def adamw_rates_uncorrected(_step: Tensor, learning_rate: Tensor, _betas: tuple[float, float], epsilon: float) -> Rates:
    """As `adamw_rates`, without bias correction: learning_rate * m / (sqrt(v) + epsilon) is the whole step.

    Args:
        _step: scalar float32, without influence.
        learning_rate: scalar float32.
        _betas: without influence.
        epsilon: added to the root of the second moment.

    Returns:
        Three scalars, float32: as of `adamw_rates`.
    Source: MindFormers 1.3, core/optim/optim.py, FP32StateAdamWeightDecay.
    """
    return learning_rate, _scalar(epsilon, learning_rate), _scalar(1.0, learning_rate)


def _scalar(value: float, like: Tensor) -> Tensor:
    """A number as a tensor [] of the type of `like`, [] too."""
    return _ones_like(like) * value


def adamw_update(
    parameter: Parameter,
    moments: tuple[Parameter, Parameter],
    gradient: Tensor,
    rates: Rates,
    betas: tuple[float, float],
    weight_decay: float,
) -> Tensor:
    """Update one parameter and its moments in place.

    Args:
        parameter: any shape, float32.
        moments: first and second moment, shaped like the parameter, zeros before the first update.
        gradient: shaped like the parameter.
        rates: result of one of the functions above.
        betas: the same as given to that function.
        weight_decay: decoupled decay; `learning_rate * weight_decay * parameter` is subtracted. 0 for none.

    Returns:
        The operator's result: make the step's output depend on it (`ops.depend`), so that the update takes place.
    """
    learning_rate, epsilon, decay_factor = rates
    decay = decay_factor * weight_decay
    return _update(parameter, moments[0], moments[1], learning_rate, betas[0], betas[1], epsilon, decay, gradient)
