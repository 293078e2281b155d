"""Averages of a parameter's values after several updates."""

from mindspore import Parameter, Tensor, mint, ops

AverageRates = tuple[Tensor, Tensor, Tensor]

_floor = ops.Floor()


def average_rates(step: Tensor, interval: int, copies: int, newest: float) -> AverageRates:
    """What `average_weights` needs of one step; the same for all parameters.

    Every `interval` updates a copy is taken; after `copies` of them the average is complete and the next one begins.

    Args:
        step: scalar float32, number of this update, 1 for the first.
        interval: updates from one copy to the next.
        copies: of one average.
        newest: weight of the newest copy in an exponential average; 0 for the simple one.

    Returns:
        Three scalars, float32: the share of the former average and that of the parameter in the new one, and whether
        the average is complete, 1 or 0.
    """
    number = _floor(step / interval)
    is_copy = ops.cast(number * interval == step, step.dtype)
    place = number - _floor((number - 1.0) / copies) * copies
    is_first = ops.cast(place == 1.0, step.dtype)
    is_last = ops.cast(place == float(copies), step.dtype)
    if newest > 0.0:
        # The first copy begins the average: an average that began at zero would shrink the weights.
        take = is_first + (1.0 - is_first) * newest
        keep = 1.0 - take
    else:
        take = 1.0 / copies + is_first * 0.0
        keep = 1.0 - is_first
    return 1.0 - is_copy + is_copy * keep, is_copy * take, is_copy * is_last


def average_weights(parameter: Parameter, average: Parameter, rates: AverageRates, updated: Tensor) -> Tensor:
    """Take a parameter into its average, and replace it by that where it is complete, both in place.

    Args:
        parameter: any shape, float32.
        average: shaped like it; what it holds before the first copy of an average has no influence.
        rates: result of `average_rates`.
        updated: depends on the update of the parameter, which comes first.

    Returns:
        A tensor that depends on the changes: make the step's output depend on it (`ops.depend`).
    Source: Li et al. 2025, Model Merging in Pre-training of Large Language Models, section 3, in the form of
        MindFormers 1.7.
    """
    keep, take, is_complete = rates
    value = ops.depend(parameter, updated)
    new = average * keep + value * take
    done = ops.assign(parameter, mint.where(is_complete > 0.0, new, value))
    return ops.depend(done, ops.assign(average, new))
