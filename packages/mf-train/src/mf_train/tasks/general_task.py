"""Models and data of the calling program."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_train.tasks.task_keys import TaskKeys


@component(
    "trainer", "GeneralTaskTrainer", "general", pending="it takes model and data from a program, which no file can name"
)
@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralTaskTrainer(TaskKeys):
    """Train what a program hands over."""
