"""What an optimizer is: a formula for one parameter, bound to the kernels of the device.

The optimizers themselves stand in `mf_train.optimizers`, one module each; `mf_train.update` applies them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@dataclass(frozen=True, slots=True)
class UpdateRule:
    """The formula of an optimizer, in functions that graph code may call.

    Attributes:
        slots: names of the tensors kept for each parameter, `adam_m`; each is shaped like the parameter and starts
            at zero.
        rates: `rates(update, learning_rate)` gives what all parameters share in one update; `update` counts from 1;
            both arguments are scalars, float32.
        apply: `apply(parameter, slots, gradient, rates, weight_decay)` changes the parameter and its slots in place
            and returns a tensor that depends on the change.
    """

    slots: tuple[str, ...]
    rates: Callable[..., Any]
    apply: Callable[..., Any]


class OptimizerSection(Protocol):
    """What every optimizer's section has."""

    learning_rate: float | None
    weight_decay: float

    def rule(self, kernels: "Kernels") -> UpdateRule:
        """The formula on the operations of the present device."""
