"""MindSpore's Adam."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mf_config.schema import component, key
from mf_train.optimizer import UpdateRule, slots_like_parameters
from mf_train.optimizers.adam_keys import AdamKeys

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@component("optimizer", "Adam", "adam")
@dataclass(frozen=True, slots=True, kw_only=True)
class Adam(AdamKeys):
    """Adam with bias correction; the decay is a part of the gradient.

    Source: Kingma and Ba 2015, Adam, algorithm 1; mindspore.nn.Adam.
    """

    eps: float = key("Added to the root of the second moment before its bias is corrected.", 1e-8, above=0)
    use_nesterov: bool = key("Look ahead along the first moment, as Nesterov's method does.", False)
    use_amsgrad: bool = key("Divide by the largest second moment so far.", False)
    use_locking: bool = key("Lock parameters while they change.", False, inert="each parameter has one writer")
    loss_scale: float = key(
        "What gradients are divided by.", 1.0, above=0, inert="runner_wrapper.scale_sense says the loss scale"
    )

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        yield from AdamKeys.problems(self)
        if self.use_nesterov and self.use_amsgrad:
            yield "use_amsgrad", "does not go with use_nesterov", "one of them"

    def rule(self, kernels: "Kernels") -> UpdateRule:
        """See `mf_train.optimizer.OptimizerSection.rule`."""
        betas, epsilon, nesterov = (self.beta1, self.beta2), self.eps, self.use_nesterov
        adam_rates, adam_update = kernels.adamw_rates_raw_epsilon, kernels.adam_update

        def rates(update: Any, learning_rate: Any) -> Any:
            return adam_rates(update, learning_rate, betas, epsilon)

        def apply(parameter: Any, slots: Any, gradient: Any, rates: Any, weight_decay: float) -> Any:
            return adam_update(parameter, slots, gradient, rates, betas, weight_decay, nesterov)

        slots = slots_like_parameters("moment1", "moment2", *(["vhat"] if self.use_amsgrad else []))
        return UpdateRule(slots, rates, apply)
