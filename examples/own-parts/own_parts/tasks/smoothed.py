"""Causal language modelling with smoothed labels."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mf_config.schema import component, key
from mf_train.step.label_losses import label_losses
from mf_train.tasks.causal_lm import CausalLanguageModelingTrainer

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@component("trainer", "SmoothedLanguageModelingTrainer")
@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothedLanguageModelingTrainer(CausalLanguageModelingTrainer):
    """The right token gets a part of the probability, and all tokens share the rest.

    Source: Szegedy et al. 2016, Rethinking the Inception Architecture, section 7.
    """

    smoothing: float = key("Share of the probability that all tokens get alike.", 0.1, minimum=0, maximum=1)

    def objective(self, kernels: "Kernels") -> Callable[..., Any]:
        """See `mf_train.task.Task.objective`. Legend: B rows, T tokens, V vocabulary."""
        losses_of, smoothing, z_loss_factor = label_losses(kernels), self.smoothing, self.z_loss_factor

        def losses(model: Any, input_ids_BT: Any, labels_BT: Any, document_starts_BT: Any) -> Any:
            hidden_BTD, added = model.hidden_and_losses(input_ids_BT, document_starts_BT)
            logits_BTV = model.head(hidden_BTD)
            of_right_BT = losses_of(logits_BTV, labels_BT)
            largest_BT1 = logits_BTV.max(-1, keepdims=True)
            sums_BT = (logits_BTV - largest_BT1).exp().sum(-1).log() + largest_BT1[..., 0]
            losses_BT = (1.0 - smoothing) * of_right_BT + smoothing * (sums_BT - logits_BTV.mean(-1))
            if model.training and z_loss_factor > 0:
                losses_BT = losses_BT + z_loss_factor * sums_BT * sums_BT
            return losses_BT, added

        return losses
