"""A learning rate that falls along a line after a warm-up."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_train.schedule import WarmUp


@component("lr_schedule", "LinearWithWarmUpLR", "linear")
@dataclass(frozen=True, slots=True, kw_only=True)
class LinearWithWarmUpLR(WarmUp):
    """Warm-up, then a line from `learning_rate` to 0.

    Source: MindFormers 1.3, core/lr/lr_schedule.py.
    """

    def rate_after_warm_up(self, update: int, warm_up: int, total: int) -> float:
        """The line's value at this update; see `WarmUp.rate_after_warm_up`."""
        return self.learning_rate * max(0.0, (total - update) / max(1, total - warm_up))
