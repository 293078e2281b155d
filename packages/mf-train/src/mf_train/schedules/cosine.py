"""A learning rate that falls along a cosine after a warm-up."""

import math
from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.schedule import WarmUp


@component("lr_schedule", "CosineWithWarmUpLR", "cosine")
@dataclass(frozen=True, slots=True, kw_only=True)
class CosineWithWarmUpLR(WarmUp):
    """Warm-up, then half a cosine from `learning_rate` to `lr_end`, where the rate stays.

    Source: Loshchilov and Hutter 2017, SGDR, equation 5, one cycle; MindFormers 1.3, core/lr/lr_schedule.py.
    """

    lr_end: float = key("The rate at the end and after it.", 0.0, minimum=0)
    num_cycles: float = key("Waves of the cosine between warm-up and end; 0.5 falls once.", 0.5, above=0)
    decay_steps: int | None = key(
        "Updates after which the rate is lr_end, wherever the cosine is then; the total where absent.",
        None,
        minimum=1,
        unit="steps",
    )

    def rate_after_warm_up(self, update: int, warm_up: int, total: int) -> float:
        """The cosine's value at this update; see `WarmUp.rate_after_warm_up`."""
        if update >= min(self.decay_steps or total, total):
            return self.lr_end
        progress = (update - warm_up) / max(1, total - warm_up)
        wave = 0.5 * (1.0 + math.cos(math.pi * self.num_cycles * 2.0 * progress))
        return self.lr_end + (self.learning_rate - self.lr_end) * max(0.0, wave)
