"""The formula of FP32StateAdamWeightDecay for clipped gradients."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mf_config.schema import component, key
from mf_train.optimizer import UpdateRule
from mf_train.optimizers.uncorrected_adam import UncorrectedAdam

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@component("optimizer", "FusedCastAdamWeightDecay")
@dataclass(frozen=True, slots=True, kw_only=True)
class FusedCastAdamWeightDecay(UncorrectedAdam):
    """Adam with weight decay whose moments are not bias-corrected, of gradients whose global norm is clipped.

    Source: MindFormers 1.3, core/optim/optim.py.
    """

    clip_norm: float = key("The largest global norm of the gradients.", 1.0, above=0)

    def rule(self, kernels: "Kernels") -> UpdateRule:
        """See `mf_train.optimizer.OptimizerSection.rule`."""
        return replace(UncorrectedAdam.rule(self, kernels), max_grad_norm=self.clip_norm)
