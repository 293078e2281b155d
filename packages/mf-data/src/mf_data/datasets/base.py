"""What the sections of all dataset tasks have."""

from dataclasses import dataclass
from typing import Literal

from mf_config.components import type_name
from mf_config.problems import UserError
from mf_config.schema import key, tag_of
from mf_data.loader import Loader

PackingMethod = Literal["none", "first_fit", "by_length"]

PACKING = (
    "How conversations share rows: none gives each a row of its own; first_fit and by_length put several into one, "
    "that do not see each other."
)
"""Description of the key `packing` of tasks that make rows of conversations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskKeys:
    """A task's section: beside its type, it only repeats the data set's own section."""

    dataset_config: None = key(
        "The data set's section again, as an alias: *train_dataset or *eval_dataset.",
        None,
        alias_suffix="_task.dataset_config",
    )


def refuse_loader(task: TaskKeys, loader: Loader) -> UserError:
    """The message for a loader whose data a task can't use."""
    name = type_name(loader) if tag_of(type(loader)) else type(loader).__name__
    return UserError(f"data_loader.type: {type_name(task)} can't make rows of what {name} gives.")
