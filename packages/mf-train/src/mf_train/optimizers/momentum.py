"""Gradient descent with momentum."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mf_config.schema import component, key
from mf_train.optimizer import UpdateRule
from mf_train.optimizers.gradient_keys import GradientKeys
from mf_train.optimizers.momentum_rule import momentum_rule

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@component("optimizer", "Momentum")
@dataclass(frozen=True, slots=True, kw_only=True)
class Momentum(GradientKeys):
    """Gradient descent that keeps a share of the former change.

    Source: mindspore.nn.Momentum.
    """

    momentum: float = key("Share of the former change that is kept.", minimum=0)
    use_nesterov: bool = key("Look ahead along the momentum.", False)

    def rule(self, kernels: "Kernels") -> UpdateRule:
        """See `mf_train.optimizer.OptimizerSection.rule`."""
        return momentum_rule(kernels, ("moments",), self.momentum, self.use_nesterov)
