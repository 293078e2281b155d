"""Adam with weight decay as the Qwen, Yi and Llama 3 examples of MindFormers define it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mf_config.schema import component, key
from mf_train.optimizer import UpdateRule
from mf_train.optimizers.adam_keys import AdamKeys
from mf_train.optimizers.adamw_rule import adamw_rule

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@component("optimizer", "AdamWeightDecayX")
@dataclass(frozen=True, slots=True, kw_only=True)
class AdamWeightDecayX(AdamKeys):
    """Adam with bias correction in the rate, so that eps weighs otherwise than in AdamW, and with decoupled decay.

    Norms and biases are not decayed, which the original means to do and doesn't. Source: MindFormers 1.3,
    research/qwen/optim.py.
    """

    eps: float = key("Added to the root of the second moment before its bias is corrected.", 1e-8, above=0)

    def rule(self, kernels: "Kernels") -> UpdateRule:
        """See `mf_train.optimizer.OptimizerSection.rule`."""
        return adamw_rule(kernels, kernels.adamw_rates_raw_epsilon, (self.beta1, self.beta2), self.eps)
