"""AdamW that averages weights on its way; MindFormers has it since 1.7."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from mf_config.schema import component, key
from mf_train.optimizer import UpdateRule, slots_like_parameters
from mf_train.optimizers.adamw import AdamW

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@component("optimizer", "PmaAdamW")
@dataclass(frozen=True, slots=True, kw_only=True)
class PmaAdamW(AdamW):
    """AdamW that takes a copy of the weights now and then, and goes on from the average of some of them.

    An exponential average begins with its first copy, so that it keeps the size of the weights. Source: Li et al. 2025,
    Model Merging in Pre-training of Large Language Models; MindFormers 1.7, core/optim/pma_adamw.py.
    """

    fused_num: int = key("Copies of the weights in one average.", 10, minimum=1)
    interleave_step: int = key("Updates from one copy to the next.", 1000, minimum=1, unit="steps")
    fused_algo: Literal["ema", "sma"] = key("An exponential or a simple average.", "ema")
    ema_alpha: float = key("Weight of the newest copy in an exponential average.", 0.2, above=0, maximum=1)
    swap: bool = key(
        "Keep the averages in the host's memory.", False, inert="the host's memory is the device's own on CPU"
    )

    def rule(self, kernels: "Kernels") -> UpdateRule:
        """See `mf_train.optimizer.OptimizerSection.rule`."""
        adamw = AdamW.rule(self, kernels)
        adamw_rates, adamw_update = adamw.rates, adamw.apply
        average_rates, average_weights = kernels.average_rates, kernels.average_weights
        interval, copies = self.interleave_step, self.fused_num
        newest = self.ema_alpha if self.fused_algo == "ema" else 0.0

        def rates(update: Any, learning_rate: Any) -> Any:
            return adamw_rates(update, learning_rate), average_rates(update, interval, copies, newest)

        def apply(parameter: Any, slots: Any, gradient: Any, rates: Any, weight_decay: float) -> Any:
            done = adamw_update(parameter, slots[:2], gradient, rates[0], weight_decay)
            return average_weights(parameter, slots[2], rates[1], done)

        return UpdateRule(slots_like_parameters("adam_m", "adam_v", "pma_weight"), rates, apply)


@component("optimizer", "FusedPmaAdamW")
@dataclass(frozen=True, slots=True, kw_only=True)
class FusedPmaAdamW(PmaAdamW):
    """The same: AdamW's own update is one fused operation in both."""
