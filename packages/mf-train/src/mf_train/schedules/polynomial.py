"""A learning rate that falls along a power of the time that is left."""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.schedule import WarmUp


@component("lr_schedule", "PolynomialWithWarmUpLR", "polynomial")
@dataclass(frozen=True, slots=True, kw_only=True)
class PolynomialWithWarmUpLR(WarmUp):
    """Warm-up, then a power of the time that is left from `learning_rate` to `lr_end`, where the rate stays.

    Source: MindFormers 1.3, core/lr/lr_schedule.py; where decay_steps end before the total, its rate falls below
    `lr_end`, or is no number at all, and this one stays at `lr_end`.
    """

    lr_end: float = key("The rate at the end and after it.", 1e-7, minimum=0)
    power: float = key("Exponent of the time that is left; 1 is a line.", 1.0, above=0)
    decay_steps: int | None = key(
        "Updates from the end of the warm-up to lr_end; all up to the total where absent.",
        None,
        minimum=1,
        unit="steps",
    )

    def rate_after_warm_up(self, update: int, warm_up: int, total: int) -> float:
        """The power's value at this update; see `WarmUp.rate_after_warm_up`."""
        if update > total:
            return self.lr_end
        left = 1.0 - (update - warm_up) / (self.decay_steps or max(1, total - warm_up))
        return float(self.lr_end + (self.learning_rate - self.lr_end) * max(0.0, left) ** self.power)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        yield from WarmUp.problems(self)
        if self.lr_end > self.learning_rate:
            what = f"{self.lr_end:g} exceeds learning_rate {self.learning_rate:g}"
            yield "lr_end", what, f"up to {self.learning_rate:g}"
