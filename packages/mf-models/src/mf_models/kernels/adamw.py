"""AdamW by MindSpore's fused operator, which knows no bias correction: the rates passed to it make up for that."""

import math

from mindspore import Parameter, Tensor, ops

_update = ops.AdamWeightDecay()
_exp = ops.Exp()
_expm1 = ops.Expm1()
_sqrt = ops.Sqrt()


def adamw_rates(step: Tensor, learning_rate: Tensor, betas: tuple[float, float], epsilon: float) -> tuple:
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
