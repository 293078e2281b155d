"""Causal language modelling: each token predicts the next one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mf_config.schema import TRAIN_MODES, component, key
from mf_data.rows.data_set import IGNORED
from mf_train.step.label_losses import label_losses, log_normalizers
from mf_train.task import Examples
from mf_train.tasks.task_keys import TaskKeys

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@component("trainer", "CausalLanguageModelingTrainer")
@dataclass(frozen=True, slots=True, kw_only=True)
class CausalLanguageModelingTrainer(TaskKeys):
    """Pretrain or finetune a causal language model on rows of token ids, one id longer than the sequence."""

    z_loss_factor: float = key(
        "Weight of the z-loss in training: the square of the logarithm of the sum of a token's exponentiated logits.",
        0.0,
        minimum=0,
        modes=TRAIN_MODES,
    )

    def examples(self, rows: dict[str, NDArray[np.int32]], ignore_id: int) -> Examples:
        """See `mf_train.task.Task.examples`; rows have `input_ids` [B, T + 1] and may have more, shaped like it.

        `labels` stand beside the ids; `position_ids` begin anew where a document does.
        """
        ids = rows["input_ids"]
        labels_BT = rows.get("labels", ids)[:, 1:]
        counted = (labels_BT != ignore_id) & (labels_BT != IGNORED)
        positions_BT = rows["position_ids"][:, :-1] if "position_ids" in rows else None
        return Examples(
            np.ascontiguousarray(ids[:, :-1]),
            np.where(counted, labels_BT, 0).astype(np.int32),
            counted.astype(np.float32),
            None if positions_BT is None else np.arange(positions_BT.shape[1], dtype=np.int32) - positions_BT,
        )

    def objective(self, kernels: "Kernels") -> Callable[..., Any]:
        """See `mf_train.task.Task.objective`.

        Source: Chowdhery et al. 2022, PaLM, section 5 (z-loss).
        """
        token_losses, normalizers, factor = label_losses(kernels), log_normalizers(kernels), self.z_loss_factor

        def losses(model: Any, input_ids_BT: Any, labels_BT: Any, document_starts_BT: Any) -> Any:
            hidden_BTD, added = model.hidden_and_losses(input_ids_BT, document_starts_BT)
            logits_BTV = model.head(hidden_BTD)
            losses_BT = token_losses(logits_BTV, labels_BT)
            if model.training and factor > 0:
                normalizers_BT = normalizers(logits_BTV, labels_BT, losses_BT)
                losses_BT = losses_BT + factor * normalizers_BT * normalizers_BT
            if model.training and model.further_tokens:
                further_BT, more = model.further_losses(
                    hidden_BTD, input_ids_BT, labels_BT, document_starts_BT, token_losses
                )
                losses_BT = losses_BT + further_BT
                added = (*added, *more)
            return losses_BT, added

        return losses
