"""CAME: AdaFactor guided by how steady the updates are."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mf_config.schema import component, key
from mf_train.optimizer import Shape, Slot, UpdateRule
from mf_train.optimizers.factored_keys import FactoredKeys, second_moment

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@component("optimizer", "Came")
@dataclass(frozen=True, slots=True, kw_only=True)
class Came(FactoredKeys):
    """AdaFactor whose update of a matrix is divided by its own instability.

    It is the same on every device; MindFormers 1.3 replaces it by AdaFactor on CPU, trains nothing without a first
    moment, which is refused here, and decays norms and biases too. Source: Luo et al. 2023, CAME: Confidence-guided
    Adaptive Memory Efficient Optimization, algorithm 2.
    """

    eps: tuple[float, ...] = key(
        "Added to squared gradients; least scale of a parameter; added to the instability.",
        (1e-30, 1e-3, 1e-16),
        above=0,
    )
    beta3: float = key("Decay of the instability.", 0.99, minimum=0, maximum=1)
    scale_parameter: bool = key("Make the rate relative to the parameter's size.", False)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        yield from FactoredKeys.problems(self)
        if not self.beta1:
            yield "beta1", "0 and None leave no first moment, which the update is", "above 0, below 1"
        if self.beta3 == 1:
            yield "beta3", "1 is out of range", "from 0, below 1"
        if len(self.eps) != 3:
            yield "eps", f"{list(self.eps)} is not the right count", "three numbers"

    def rule(self, kernels: "Kernels") -> UpdateRule:
        """See `mf_train.optimizer.OptimizerSection.rule`."""
        (epsilon, least_scale, instability), largest = self.eps, self.clip_threshold
        beta1, beta3, exponent, scales = self.beta1, self.beta3, self.decay_rate, self.scale_parameter
        moving_mean, inverse_root, subtract = kernels.moving_mean, kernels.inverse_root, kernels.subtract
        limit, scale_of = kernels.limit_root_mean_square, kernels.scale_of

        def rates(update: Any, learning_rate: Any) -> Any:
            return learning_rate, 1.0 - update**-exponent

        def apply(parameter: Any, slots: Any, gradient: Any, rates: Any, weight_decay: float) -> Any:
            learning_rate, decay = rates
            if scales:
                learning_rate = learning_rate * scale_of(parameter, least_scale)
            moments = slots[1:]
            if len(slots) > 2:
                moments = slots[1:3]
            change = limit(gradient * inverse_root(moments, gradient * gradient + epsilon, decay), largest)
            mean = moving_mean(slots[0], change, beta1)
            if len(slots) > 2:
                distance = change - mean
                mean = mean * inverse_root(slots[3:], distance * distance + instability, beta3)
            return subtract(parameter, mean * learning_rate, learning_rate * weight_decay)

        return UpdateRule(_slots, rates, apply, needs_whole=True)


def _slots(shape: Shape) -> tuple[Slot, ...]:
    kept = (Slot("exp_avg", shape), *second_moment(shape, "exp_avg_sq", "exp_avg_sq"))
    return kept if len(shape) < 2 else (*kept, *second_moment(shape, "exp_avg_insta", ""))
