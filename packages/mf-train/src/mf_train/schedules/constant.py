"""A constant learning rate after a warm-up."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_train.schedule import WarmUp


@component("lr_schedule", "ConstantWarmUpLR", "constant_with_warmup")
@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantWarmUpLR(WarmUp):
    """Warm-up, then `learning_rate` for ever."""

    def rate_after_warm_up(self, update: int, warm_up: int, total: int) -> float:
        """`learning_rate`, whatever the update."""
        return self.learning_rate
