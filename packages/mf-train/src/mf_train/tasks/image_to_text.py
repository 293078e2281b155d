"""Text about images."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_train.tasks.task_keys import TaskKeys


@component("trainer", "ImageToTextGenerationTrainer", pending="images are not read")
@dataclass(frozen=True, slots=True, kw_only=True)
class ImageToTextGenerationTrainer(TaskKeys):
    """Finetune a model that writes text about images."""
