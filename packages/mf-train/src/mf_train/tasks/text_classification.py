"""Classification of texts: the last token of a text says its class."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mf_config.schema import component
from mf_data.rows.data_set import IGNORED
from mf_train.step.label_losses import label_losses
from mf_train.task import Examples
from mf_train.tasks.task_keys import TaskKeys

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@component("trainer", "TextClassificationTrainer")
@dataclass(frozen=True, slots=True, kw_only=True)
class TextClassificationTrainer(TaskKeys):
    """Finetune and evaluate a model that finds the class of a text, such as GPT2ForSequenceClassification.

    Source: Hugging Face Transformers, GPT2ForSequenceClassification: the scores at the last token that is no padding.
    """

    def examples(self, rows: dict[str, NDArray[np.int32]], ignore_id: int) -> Examples:
        """See `mf_train.task.Task.examples`; rows have `input_ids` and `attention_mask` [B, T], and `labels` [B, 1]."""
        ids_BT, mask_BT, labels_B = rows["input_ids"], rows["attention_mask"] != 0, rows["labels"][:, 0]
        counted_B = (labels_B != ignore_id) & (labels_B != IGNORED)
        every, last_B = np.arange(len(ids_BT)), ids_BT.shape[1] - 1 - np.argmax(mask_BT[:, ::-1], axis=1)
        labels_BT, weights_BT = np.zeros_like(ids_BT), np.zeros(ids_BT.shape, np.float32)
        labels_BT[every, last_B] = np.where(counted_B, labels_B, 0)
        weights_BT[every, last_B] = counted_B
        return Examples(ids_BT, labels_BT, weights_BT)

    def objective(self, kernels: "Kernels") -> Callable[..., Any]:
        """See `mf_train.task.Task.objective`."""
        losses_of = label_losses(kernels)

        def losses(model: Any, input_ids_BT: Any, labels_BT: Any, document_starts_BT: Any) -> Any:
            hidden_BTD, added = model.hidden_and_losses(input_ids_BT, document_starts_BT)
            return losses_of(model.head(hidden_BTD), labels_BT), added

        return losses
