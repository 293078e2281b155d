"""A learning rate that falls exponentially with the updates."""

import math
from dataclasses import dataclass

from mf_config.schema import component
from mf_train.schedules.decay_keys import DecayKeys


@component("lr_schedule", "NaturalExpDecayLR")
@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalExpDecayLR(DecayKeys):
    """`learning_rate` times e to minus `decay_rate` times the updates.

    Source: mindspore.nn.NaturalExpDecayLR; decay_steps count only with is_stair.
    """

    def rate(self, update: int, run_updates: int) -> float:
        """The rate of one update; see `mf_train.schedule.LearningRate.rate`."""
        return self.learning_rate * math.exp(-self.decay_rate * self.steps_of_decay(update) * self.decay_steps)
