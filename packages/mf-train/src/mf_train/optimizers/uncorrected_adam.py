"""The optimizers with Adam's moments and decoupled decay whose moments are not bias-corrected."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mf_train.optimizer import UpdateRule
from mf_train.optimizers.adam_keys import AdamKeys
from mf_train.optimizers.adamw_rule import adamw_rule

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@dataclass(frozen=True, slots=True, kw_only=True)
class UncorrectedAdam(AdamKeys):
    """m / (sqrt(v) + eps) + weight_decay * p, times the rate, is subtracted; norms and biases are not decayed.

    The first update is (1 - beta1) / sqrt(1 - beta2) times AdamW's: 3.2 times for betas of 0.9 and 0.999, 0.45 times
    for 0.9 and 0.95. Source: MindFormers 1.3, core/optim/optim.py; mindspore.nn.AdamWeightDecay.
    """

    def rule(self, kernels: "Kernels") -> UpdateRule:
        """See `mf_train.optimizer.OptimizerSection.rule`."""
        return adamw_rule(kernels, kernels.adamw_rates_uncorrected, (self.beta1, self.beta2), self.eps)
