"""A run that ends before its time."""

from dataclasses import dataclass

from mf_config.schema import component, key


@component("callback", "TrainCallBack", pending="a run ends with its epochs, or where --stop-after says so")
@dataclass(frozen=True, slots=True, kw_only=True)
class TrainCallBack:
    """Stop training after some steps."""

    stop_step: int | None = key("Steps after which the run stops; its end where absent.", None, minimum=1, unit="steps")
