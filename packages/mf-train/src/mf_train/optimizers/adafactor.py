"""AdaFactor."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mf_config.schema import component, key
from mf_train.optimizer import Shape, Slot, UpdateRule
from mf_train.optimizers.factored_keys import RELATIVE_STEP, FactoredKeys, second_moment

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@component("optimizer", "AdaFactor", "adafactor")
@dataclass(frozen=True, slots=True, kw_only=True)
class AdaFactor(FactoredKeys):
    """Adam whose second moment of a matrix is a row times a column.

    Source: Shazeer and Stern 2018, Adafactor, algorithm 6; mindspore.nn.AdaFactor.
    """

    eps: tuple[float, ...] = key("Added to squared gradients; least scale of a parameter.", (1e-30, 1e-3), above=0)
    scale_parameter: bool = key("Make the rate relative to the parameter's size.", True)
    relative_step: bool = key(RELATIVE_STEP, True)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        yield from FactoredKeys.problems(self)
        if len(self.eps) != 2:
            yield "eps", f"{list(self.eps)} is not the right count", "two numbers"

    def rule(self, kernels: "Kernels") -> UpdateRule:
        """See `mf_train.optimizer.OptimizerSection.rule`."""
        (epsilon, least_scale), largest = self.eps, self.clip_threshold
        beta1, exponent, scales = self.beta1 or 0.0, self.decay_rate, self.scale_parameter
        moving_mean, inverse_root, subtract = kernels.moving_mean, kernels.inverse_root, kernels.subtract
        limit, scale_of = kernels.limit_root_mean_square, kernels.scale_of

        def rates(update: Any, learning_rate: Any) -> Any:
            return learning_rate, 1.0 - update**-exponent

        def apply(parameter: Any, slots: Any, gradient: Any, rates: Any, weight_decay: float) -> Any:
            learning_rate, decay = rates
            if scales:
                learning_rate = learning_rate * scale_of(parameter, least_scale)
            second = slots
            if beta1 > 0.0:
                second = slots[1:]
            change = gradient * inverse_root(second, gradient * gradient + epsilon, decay)
            change = limit(change, largest) * learning_rate
            if beta1 > 0.0:
                change = moving_mean(slots[0], change, beta1)
            return subtract(parameter, change, learning_rate * weight_decay)

        return UpdateRule(self._slots, rates, apply, needs_whole=True)

    def _slots(self, shape: Shape) -> tuple[Slot, ...]:
        first = [Slot("exp_avg", shape)] if self.beta1 else []
        return (*first, *second_moment(shape, "exp_avg_sq", "exp_avg_sq"))
