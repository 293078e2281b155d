"""The formula that the optimizers with Adam's moments and decoupled decay share; they differ in their rates alone."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mf_train.optimizer import UpdateRule, slots_like_parameters

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


def adamw_rule(
    kernels: "Kernels", kernel_rates: Callable[..., Any], betas: tuple[float, float], epsilon: float
) -> UpdateRule:
    """Moments `adam_m` and `adam_v`, updated by the kernel `adamw_update`.

    Args:
        kernels: the operations of the present device.
        kernel_rates: the one of them that says how the bias of the moments is corrected.
        betas: decay of the first and of the second moment.
        epsilon: added to the root of the second moment.
    """
    adamw_update = kernels.adamw_update

    def rates(update: Any, learning_rate: Any) -> Any:
        return kernel_rates(update, learning_rate, betas, epsilon)

    def apply(parameter: Any, slots: Any, gradient: Any, rates: Any, weight_decay: float) -> Any:
        return adamw_update(parameter, slots, gradient, rates, betas, weight_decay)

    return UpdateRule(slots_like_parameters("adam_m", "adam_v"), rates, apply)
