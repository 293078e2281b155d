"""A learning rate that falls with the inverse of the time."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_train.schedules.decay_keys import DecayKeys


@component("lr_schedule", "InverseDecayLR")
@dataclass(frozen=True, slots=True, kw_only=True)
class InverseDecayLR(DecayKeys):
    """`learning_rate` divided by 1 plus `decay_rate` times the steps of the decay.

    Source: mindspore.nn.InverseDecayLR.
    """

    def rate(self, update: int, run_updates: int) -> float:
        """The rate of one update; see `mf_train.schedule.LearningRate.rate`."""
        return self.learning_rate / (1.0 + self.decay_rate * self.steps_of_decay(update))
