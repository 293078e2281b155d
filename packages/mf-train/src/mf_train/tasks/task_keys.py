"""The key that all tasks have."""

from dataclasses import dataclass

from mf_config.schema import key


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskKeys:
    """A task's name for people."""

    model_name: str = key("A name for logs and reports.", "")
