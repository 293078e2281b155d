"""A learning rate that falls by a constant factor."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_train.schedules.decay_keys import DecayKeys


@component("lr_schedule", "ExponentialDecayLR")
@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialDecayLR(DecayKeys):
    """`learning_rate` times `decay_rate` to the number of steps of the decay.

    Source: mindspore.nn.ExponentialDecayLR.
    """

    def rate(self, update: int, run_updates: int) -> float:
        """The rate of one update; see `mf_train.schedule.LearningRate.rate`."""
        return float(self.learning_rate * self.decay_rate ** self.steps_of_decay(update))
