"""A learning rate that falls along a power of the time that is left, once or again and again."""

import math
from dataclasses import dataclass

from mf_config.schema import component, key


@component("lr_schedule", "PolynomialDecayLR")
@dataclass(frozen=True, slots=True, kw_only=True)
class PolynomialDecayLR:
    """A power of the time that is left, from `learning_rate` to `end_learning_rate`.

    Source: mindspore.nn.PolynomialDecayLR.
    """

    learning_rate: float = key("The rate of the first update.", above=0)
    end_learning_rate: float = key("The rate at the end and after it.", minimum=0)
    decay_steps: int = key("Updates from the one rate to the other.", minimum=1, unit="steps")
    power: float = key("Exponent of the time that is left; 1 is a line.", above=0)
    update_decay_steps: bool = key(
        "At the end, stretch the decay by another decay_steps updates instead of staying at end_learning_rate.", False
    )

    def rate(self, update: int, run_updates: int) -> float:
        """The rate of one update; see `mf_train.schedule.LearningRate.rate`."""
        span = self.decay_steps
        if self.update_decay_steps:
            span *= max(1, math.ceil(update / self.decay_steps))
        left = 1.0 - min(update, span) / span
        return float(self.end_learning_rate + (self.learning_rate - self.end_learning_rate) * left**self.power)
