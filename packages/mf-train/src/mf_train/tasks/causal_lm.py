"""Causal language modelling: each token predicts the next one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mf_config.schema import component
from mf_data.rows import IGNORED
from mf_train.task import Examples
from mf_train.tasks.task_keys import TaskKeys

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@component("trainer", "CausalLanguageModelingTrainer")
@dataclass(frozen=True, slots=True, kw_only=True)
class CausalLanguageModelingTrainer(TaskKeys):
    """Pretrain or finetune a causal language model on rows of token ids, one id longer than the sequence."""

    def examples(self, rows: dict[str, NDArray[np.int32]], ignore_id: int) -> Examples:
        """See `mf_train.task.Task.examples`; rows have `input_ids` [B, T + 1] and may have `labels` shaped like it."""
        ids = rows["input_ids"]
        labels_BT = rows.get("labels", ids)[:, 1:]
        counted = (labels_BT != ignore_id) & (labels_BT != IGNORED)
        return Examples(
            np.ascontiguousarray(ids[:, :-1]),
            np.where(counted, labels_BT, 0).astype(np.int32),
            counted.astype(np.float32),
        )

    def objective(self, kernels: "Kernels") -> Callable[..., Any]:
        """See `mf_train.task.Task.objective`."""
        cross_entropy = kernels.cross_entropy

        def losses(model: Any, input_ids_BT: Any, labels_BT: Any) -> Any:
            logits_BTV = model.head(model.hidden(input_ids_BT))
            logits_NV = logits_BTV.reshape((-1, logits_BTV.shape[-1]))
            return cross_entropy(logits_NV, labels_BT.reshape((-1,))).reshape(labels_BT.shape)

        return losses
