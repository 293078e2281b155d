"""A learning rate that falls along a cosine and stays low."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import component, key


@component("lr_schedule", "CosineDecayLR")
@dataclass(frozen=True, slots=True, kw_only=True)
class CosineDecayLR:
    """Half a cosine from `max_lr` to `min_lr`, where the rate stays.

    Source: mindspore.nn.CosineDecayLR.
    """

    min_lr: float = key("The rate at the end and after it.", minimum=0)
    max_lr: float = key("The rate of the first update.", above=0)
    decay_steps: int = key("Updates from max_lr to min_lr.", minimum=1, unit="steps")

    def rate(self, update: int, run_updates: int) -> float:
        """The rate of one update; see `mf_train.schedule.LearningRate.rate`."""
        progress = min(update, self.decay_steps) / self.decay_steps
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * (1.0 + math.cos(math.pi * progress))

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        if self.min_lr >= self.max_lr:
            yield "min_lr", f"{self.min_lr:g} is not below max_lr {self.max_lr:g}", f"below {self.max_lr:g}"
