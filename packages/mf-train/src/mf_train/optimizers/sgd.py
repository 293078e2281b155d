"""Gradient descent."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mf_config.schema import component, key
from mf_train.optimizer import UpdateRule
from mf_train.optimizers.gradient_keys import GradientKeys
from mf_train.optimizers.momentum_rule import momentum_rule

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@component("optimizer", "SGD", "sgd")
@dataclass(frozen=True, slots=True, kw_only=True)
class SGD(GradientKeys):
    """Gradient descent, with momentum where it is asked for.

    Source: mindspore.nn.SGD.
    """

    momentum: float = key("Share of the former change that is kept.", 0.0, minimum=0)
    dampening: float = key("Share of the gradient that momentum leaves out.", 0.0, minimum=0, maximum=1)
    nesterov: bool = key("Look ahead along the momentum.", False)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            yield "nesterov", "needs momentum above 0 and dampening 0", "False, or these values"

    def rule(self, kernels: "Kernels") -> UpdateRule:
        """See `mf_train.optimizer.OptimizerSection.rule`."""
        slots = ("accum",) if self.momentum > 0 else ()
        return momentum_rule(kernels, slots, self.momentum, self.nesterov, self.dampening)
