"""`grouped_lr_schedule`: learning rates of groups of parameters."""

from dataclasses import dataclass
from typing import Annotated, Any

from mf_config.schema import ComponentOf, key


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedScheduleSection:
    """Schedules by groups of parameters."""

    default: Annotated[Any, ComponentOf("lr_schedule")] | None = key(
        "The schedule of all other parameters, as lr_schedule, chosen by type.", None
    )
    grouped: tuple[Annotated[Any, ComponentOf("lr_schedule")], ...] = key(
        "The schedules of the groups, chosen by type; params says whose they are, and the first that fits counts.", ()
    )
