"""What a learning-rate schedule is: a pure function from the number of updates to a rate.

The schedules themselves stand in `mf_train.schedules`, one module each.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol, Self, runtime_checkable

from mf_config.schema import key


@runtime_checkable
class LearningRate(Protocol):
    """Any schedule, and an optimizer whose rate follows from the number of updates."""

    def rate(self, update: int, run_updates: int) -> float:
        """The rate of one update.

        Args:
            update: updates already applied; 0 before the first one.
            run_updates: updates of the whole run, which `total_steps: -1` stands for.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp(ABC):
    """Keys that all schedules with a warm-up share: a line from `warmup_lr_init` to `learning_rate`.

    Source: MindFormers 1.3, core/lr/lr_schedule.py; the first update uses `warmup_lr_init` itself.
    """

    learning_rate: float = key("The rate at the end of the warm-up.", above=0)
    warmup_steps: int = key("Updates of the warm-up.", 0, minimum=0)
    warmup_ratio: float | None = key(
        "Share of the total that is warm-up; replaces warmup_steps where it is given.", None, minimum=0, maximum=1
    )
    warmup_epochs: int | None = key(
        "Epochs of the warm-up, where there is no warmup_ratio; replaces warmup_steps where it is given.",
        None,
        minimum=0,
        unit="epochs",
    )
    warmup_lr_init: float = key("The rate of the first update.", 0.0, minimum=0)
    params: tuple[str, ...] = key(
        "In grouped_lr_schedule.grouped: the parameters that follow this schedule, as regular expressions of whole "
        "names.",
        (),
    )
    total_steps: int = key("Updates over which the rate falls; -1 for all updates of the run.", -1, minimum=-1)

    def with_epochs_of(self, updates: int) -> Self:
        """The same schedule with its warm-up counted in updates.

        Args:
            updates: of an epoch.
        """
        if self.warmup_epochs is None:
            return self
        return replace(self, warmup_steps=self.warmup_epochs * updates, warmup_epochs=None)

    def total(self, run_updates: int) -> int:
        """Updates over which the rate falls, warm-up included."""
        return run_updates if self.total_steps == -1 else self.total_steps

    def warm_up_updates(self, run_updates: int) -> int:
        """Updates of the warm-up."""
        if self.warmup_ratio is None:
            return self.warmup_steps
        return int(self.total(run_updates) * self.warmup_ratio)

    def rate(self, update: int, run_updates: int) -> float:
        """The rate of one update; see `LearningRate.rate`."""
        warm_up = self.warm_up_updates(run_updates)
        if update < warm_up:
            return self.warmup_lr_init + (self.learning_rate - self.warmup_lr_init) * update / warm_up
        return self.rate_after_warm_up(update, warm_up, self.total(run_updates))

    @abstractmethod
    def rate_after_warm_up(self, update: int, warm_up: int, total: int) -> float:
        """The rate of an update after the warm-up; the schedule's own part.

        Args:
            update: updates already applied, at least `warm_up`.
            warm_up: updates of the warm-up.
            total: updates over which the rate falls, warm-up included.
        """

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        if self.total_steps == 0:
            yield "total_steps", "0 leaves no update", "from 1, or -1 for all updates of the run"
        elif 0 < self.total_steps < self.warmup_steps and self.warmup_ratio is None:
            what = f"{self.warmup_steps} exceeds total_steps {self.total_steps}"
            yield "warmup_steps", what, f"from 0 to {self.total_steps}"
        for pattern in self.params:
            try:
                re.compile(pattern)
            except re.error as error:
                yield "params", f"{pattern!r} is not a regular expression: {error}", "one, for example .*bias"
        if self.warmup_lr_init > self.learning_rate:
            what = f"{self.warmup_lr_init:g} exceeds learning_rate {self.learning_rate:g}"
            yield "warmup_lr_init", what, f"up to {self.learning_rate:g}"
