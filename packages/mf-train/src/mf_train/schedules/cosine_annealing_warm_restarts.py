"""A learning rate that falls along a cosine and starts again, each time for longer."""

import math
from dataclasses import dataclass

from mf_config.schema import component, key


@component("lr_schedule", "CosineAnnealingWarmRestarts", "cosine_annealing_warm_restarts")
@dataclass(frozen=True, slots=True, kw_only=True)
class CosineAnnealingWarmRestarts:
    """Half cosines from `base_lr` to `eta_min`, each `t_mult` times as long as the one before.

    Source: Loshchilov and Hutter 2017, SGDR, equation 5.
    """

    base_lr: float = key("The rate at the beginning of each cycle.", above=0)
    t_0: int = key("Updates of the first cycle.", minimum=1, unit="steps")
    t_mult: int = key("How much longer each cycle is than the one before.", 1, minimum=1)
    eta_min: float = key("The rate that each cycle falls to.", 0.0, minimum=0)

    def rate(self, update: int, run_updates: int) -> float:
        """The rate of one update; see `mf_train.schedule.LearningRate.rate`."""
        position, length = self._cycle(update)
        wave = 0.5 * (1.0 + math.cos(math.pi * position / length))
        return self.eta_min + (self.base_lr - self.eta_min) * wave

    def _cycle(self, update: int) -> tuple[int, int]:
        """The update's position within its cycle, and the cycle's length."""
        if self.t_mult == 1:
            return update % self.t_0, self.t_0
        # Whole numbers: a logarithm would place an update at a border into the wrong cycle.
        position, length = update, self.t_0
        while position >= length:
            position -= length
            length *= self.t_mult
        return position, length
