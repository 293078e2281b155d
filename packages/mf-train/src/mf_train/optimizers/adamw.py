"""AdamW with bias correction and decoupled weight decay."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mf_config.schema import component, key
from mf_train.optimizer import UpdateRule
from mf_train.optimizers.adamw_rule import adamw_rule

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@component("optimizer", "AdamW")
@dataclass(frozen=True, slots=True, kw_only=True)
class AdamW:
    """AdamW: both moments bias-corrected, the decay apart from them; norms and biases are not decayed.

    Source: Loshchilov and Hutter 2019, Decoupled Weight Decay Regularization, algorithm 2.
    """

    learning_rate: float | None = key("Constant rate; used where there is no lr_schedule.", None, above=0)
    betas: tuple[float, ...] = key("Decay of the first and of the second moment.", (0.9, 0.999))
    eps: float = key("Added to the root of the corrected second moment.", 1e-8, above=0)
    weight_decay: float = key("Decoupled decay of matrices, relative to the rate.", 0.0, minimum=0)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            yield "betas", f"{list(self.betas)} is out of range", "two numbers, each from 0, below 1"

    def rule(self, kernels: "Kernels") -> UpdateRule:
        """See `mf_train.optimizer.OptimizerSection.rule`."""
        return adamw_rule(kernels, kernels.adamw_rates, (self.betas[0], self.betas[1]), self.eps)
