"""Text about images, videos or sound."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_train.tasks.task_keys import TaskKeys


@component("trainer", "MultiModalToTextGenerationTrainer", pending="images, videos and sound are not read")
@dataclass(frozen=True, slots=True, kw_only=True)
class MultiModalToTextGenerationTrainer(TaskKeys):
    """Finetune a model that writes text about images, videos or sound."""
