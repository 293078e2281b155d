"""What an optimizer is: a formula for one parameter, bound to the kernels of the device.

The optimizers themselves stand in `mf_train.optimizers`, one module each; `mf_train.step.update` applies them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """A tensor that an optimizer keeps of a parameter.

    Attributes:
        name: of its kind, `adam_m`.
        shape: its shape.
        first_value: what each of its elements is before the first update.
    """

    name: str
    shape: Shape
    first_value: float = 0.0


def slots_like_parameters(*names: str, first_value: float = 0.0) -> Callable[[Shape], tuple[Slot, ...]]:
    """What `UpdateRule.slots` is where all tensors are shaped like their parameter.

    Args:
        names: of their kinds.
        first_value: what each element is before the first update.
    """
    return lambda shape: tuple(Slot(name, shape, first_value) for name in names)


@dataclass(frozen=True, slots=True)
class UpdateRule:
    """The formula of an optimizer, in functions that graph code may call.

    Attributes:
        slots: `slots(shape)` says what is kept of a parameter of that shape.
        rates: `rates(update, learning_rate)` gives what all parameters share in one update; `update` counts from 1;
            both arguments are scalars, float32.
        apply: `apply(parameter, slots, gradient, rates, weight_decay)` changes the parameter and its slots in place
            and returns a tensor that depends on the change.
        needs_whole: whether it looks at whole parameters, so that no layout may divide them.
        max_grad_norm: the largest global norm of the gradients that it takes; None for any.
    """

    slots: Callable[[Shape], tuple[Slot, ...]]
    rates: Callable[..., Any]
    apply: Callable[..., Any]
    needs_whole: bool = False
    max_grad_norm: float | None = None


class OptimizerSection(Protocol):
    """What every optimizer's section has."""

    learning_rate: float | None
    weight_decay: float

    def rule(self, kernels: "Kernels") -> UpdateRule:
        """The formula on the operations of the present device."""
