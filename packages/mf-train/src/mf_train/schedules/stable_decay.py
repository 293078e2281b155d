"""A learning rate that stays after a warm-up and falls at the end."""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.schedule import WarmUp


@component("lr_schedule", "WarmUpStableDecayLR")
@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUpStableDecayLR(WarmUp):
    """Warm-up, then `learning_rate`, and from the beginning of the decay on a line to `lr_end`, where the rate stays.

    Source: Hu et al. 2024, MiniCPM, section 4; MindFormers 1.6, core/lr/lr_schedule.py.
    """

    lr_end: float = key("The rate at the end and after it.", 1e-7, minimum=0)
    decay_start_steps: int | None = key("Updates after which the rate falls.", None, minimum=0, unit="steps")
    decay_start_ratio: float | None = key(
        "Share of the total after which the rate falls; replaces decay_start_steps where it is given.",
        None,
        minimum=0,
        maximum=1,
    )

    def rate_after_warm_up(self, update: int, warm_up: int, total: int) -> float:
        """The constant, or the line's value at this update; see `WarmUp.rate_after_warm_up`."""
        begin = self._decay_begins(total)
        if update < begin:
            return self.learning_rate
        left = max(0.0, (total - update) / max(1, total - begin))
        return self.lr_end + (self.learning_rate - self.lr_end) * left

    def _decay_begins(self, total: int) -> int:
        """Updates after which the rate falls."""
        if self.decay_start_ratio is not None:
            return int(total * self.decay_start_ratio)
        assert self.decay_start_steps is not None, "problems() lets no section pass that has neither"
        return self.decay_start_steps

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        yield from WarmUp.problems(self)
        if self.decay_start_steps is None and self.decay_start_ratio is None:
            yield "decay_start_steps", "is missing, and there is no decay_start_ratio", "one of the two"
        if self.lr_end > self.learning_rate:
            what = f"{self.lr_end:g} exceeds learning_rate {self.learning_rate:g}"
            yield "lr_end", what, f"up to {self.learning_rate:g}"
