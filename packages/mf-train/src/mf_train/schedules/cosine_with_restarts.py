"""A learning rate that falls along a cosine several times after a warm-up."""

import math
from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.schedule import WarmUp


@component("lr_schedule", "CosineWithRestartsAndWarmUpLR", "cosine_with_restarts")
@dataclass(frozen=True, slots=True, kw_only=True)
class CosineWithRestartsAndWarmUpLR(WarmUp):
    """Warm-up, then `num_cycles` half cosines, each from `learning_rate` to `lr_end`, where the rate stays.

    Source: Loshchilov and Hutter 2017, SGDR, equation 5; MindFormers 1.3, core/lr/lr_schedule.py, which falls to 0
    where decay_steps reach beyond the total: this one stays at `lr_end`.
    """

    lr_end: float = key("The rate at the end of each cycle and after the last.", 0.0, minimum=0)
    num_cycles: float = key("Half cosines between warm-up and end.", 1.0, above=0)
    decay_steps: int | None = key(
        "Updates after which the rate is lr_end; the total where absent.", None, minimum=1, unit="steps"
    )

    def rate_after_warm_up(self, update: int, warm_up: int, total: int) -> float:
        """The cosine's value at this update; see `WarmUp.rate_after_warm_up`."""
        if update >= min(self.decay_steps or total, total):
            return self.lr_end
        progress = (update - warm_up) / max(1, total - warm_up)
        wave = 0.5 * (1.0 + math.cos(math.pi * (self.num_cycles * progress % 1.0)))
        return self.lr_end + (self.learning_rate - self.lr_end) * wave
