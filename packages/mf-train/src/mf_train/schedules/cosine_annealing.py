"""A learning rate that falls and rises along a cosine for ever."""

import math
from dataclasses import dataclass

from mf_config.schema import component, key


@component("lr_schedule", "CosineAnnealingLR", "cosine_annealing")
@dataclass(frozen=True, slots=True, kw_only=True)
class CosineAnnealingLR:
    """A cosine from `base_lr` to `eta_min` and back, without warm-up.

    Source: Loshchilov and Hutter 2017, SGDR, equation 5; MindFormers 1.3, core/lr/lr_schedule.py.
    """

    base_lr: float = key("The rate of the first update.", above=0)
    t_max: int = key("Updates from base_lr to eta_min.", minimum=1, unit="steps")
    eta_min: float = key("The smallest rate.", 0.0, minimum=0)

    def rate(self, update: int, run_updates: int) -> float:
        """The rate of one update; see `mf_train.schedule.LearningRate.rate`."""
        wave = 0.5 * (1.0 + math.cos(math.pi * update / self.t_max))
        return self.eta_min + (self.base_lr - self.eta_min) * wave
