"""The formula of gradient descent with momentum, which two optimizers share."""

from typing import TYPE_CHECKING, Any

from mf_train.optimizer import UpdateRule, slots_like_parameters

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


def momentum_rule(
    kernels: "Kernels", slots: tuple[str, ...], momentum: float, nesterov: bool, dampening: float = 0.0
) -> UpdateRule:
    """Gradient descent by the kernel `momentum_update`.

    Args:
        kernels: the operations of the present device.
        slots: name of the former changes; none for gradient descent without momentum.
        momentum: share of the former changes that is kept.
        nesterov: look ahead along the momentum.
        dampening: share of the gradient that momentum leaves out.
    """
    momentum_rates, momentum_update = kernels.momentum_rates, kernels.momentum_update

    def rates(update: Any, learning_rate: Any) -> Any:
        return momentum_rates(update, learning_rate, dampening)

    def apply(parameter: Any, slots: Any, gradient: Any, rates: Any, weight_decay: float) -> Any:
        return momentum_update(parameter, slots, gradient, rates, momentum, weight_decay, nesterov)

    return UpdateRule(slots_like_parameters(*slots), rates, apply)
