"""Classification of texts."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_train.tasks.task_keys import TaskKeys


@component("trainer", "TextClassificationTrainer", pending="there is no classification")
@dataclass(frozen=True, slots=True, kw_only=True)
class TextClassificationTrainer(TaskKeys):
    """Finetune and evaluate a model that finds the class of a text."""
