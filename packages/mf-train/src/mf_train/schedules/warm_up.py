"""A warm-up and nothing after it."""

from dataclasses import dataclass

from mf_config.schema import component, key


@component("lr_schedule", "WarmUpLR")
@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUpLR:
    """A line from 0 to `learning_rate`, where the rate stays.

    Source: mindspore.nn.WarmUpLR.
    """

    learning_rate: float = key("The rate at the end of the warm-up and after it.", above=0)
    warmup_steps: int = key("Updates of the warm-up.", minimum=1, unit="steps")

    def rate(self, update: int, run_updates: int) -> float:
        """The rate of one update; see `mf_train.schedule.LearningRate.rate`."""
        return self.learning_rate * min(update, self.warmup_steps) / self.warmup_steps
