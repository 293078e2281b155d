"""Adagrad."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mf_config.schema import component, key
from mf_train.optimizer import UpdateRule, slots_like_parameters
from mf_train.optimizers.gradient_keys import GradientKeys

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@component("optimizer", "Adagrad", "adagrad")
@dataclass(frozen=True, slots=True, kw_only=True)
class Adagrad(GradientKeys):
    """Gradient descent whose rate falls with the sum of squared gradients.

    Where a sum is zero the weight stays; MindSpore's own class makes it undefined. Source: Duchi et al. 2011, Adaptive
    Subgradient Methods; mindspore.nn.Adagrad.
    """

    accum: float = key("The first value of the sums.", 0.1, minimum=0)
    update_slots: bool = key("Go on summing.", True)

    def rule(self, kernels: "Kernels") -> UpdateRule:
        """See `mf_train.optimizer.OptimizerSection.rule`."""
        update, goes_on = kernels.adagrad_update, self.update_slots

        def rates(_update: Any, learning_rate: Any) -> Any:
            return learning_rate

        def apply(parameter: Any, slots: Any, gradient: Any, rates: Any, weight_decay: float) -> Any:
            return update(parameter, slots[0], gradient, rates, weight_decay, goes_on)

        return UpdateRule(slots_like_parameters("accum", first_value=self.accum), rates, apply)
