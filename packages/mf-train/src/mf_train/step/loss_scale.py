"""The loss scale: a factor that keeps small float16 gradients from vanishing, and what an overflow does to it."""

from dataclasses import dataclass
from typing import Any

from mf_config.sections.runner import LossScaleSection
from mf_train.step.window_ladder import WindowLadder

_SMALLEST_SCALE = 1.0


@dataclass(slots=True)
class LossScale:
    """The current scale and what moves it.

    Attributes:
        value: factor on the loss of the next step.
        factor: the scale is divided by it after an overflow and multiplied by it after `window` good steps; 1 for a
            constant scale.
        window: good steps in a row (counted as the source does) before the scale grows.
        ladder: gives the window where it changes with growths and overflows; None where it stays.
        steps: steps seen so far, counted from 1.
        last_change: the step of the last overflow or growth.
        stuck: overflows in a row that could not lower the scale.

    Source: MindFormers 1.3 / MindSpore, DynamicLossScaleUpdateCell and AdaptiveLossScaleUpdateCell.
    """

    value: float
    factor: float = 1.0
    window: int = 1
    ladder: WindowLadder | None = None
    steps: int = 1
    last_change: int = 0
    stuck: int = 0

    @classmethod
    def from_section(cls, section: float | LossScaleSection) -> "LossScale":
        """The scale that `runner_wrapper.scale_sense` asks for; a number is a constant scale."""
        if not isinstance(section, LossScaleSection):
            return cls(section)
        if section.type == "FixedLossScaleUpdateCell":
            return cls(section.loss_scale_value)
        if section.type == "DynamicLossScaleUpdateCell":
            return cls(section.loss_scale_value, section.scale_factor, section.scale_window)
        ladder = WindowLadder.of(section.scale_window, section.min_scale_window, section.max_scale_window)
        return cls(section.loss_scale_value, section.scale_factor, ladder.window, ladder)

    def update(self, overflow: bool) -> None:
        """Take note of one step.

        Args:
            overflow: whether its gradients were not finite, so that it changed nothing.
        """
        former = self.value
        if overflow:
            # A constant scale stays where it is, even below the smallest moving one.
            self.value = max(self.value / self.factor, min(self.value, _SMALLEST_SCALE))
            self.last_change = self.steps
            if self.ladder is not None:
                self.ladder.after_overflow()
                self.window = self.ladder.window
        elif self.steps - self.last_change >= self.window:
            self.value *= self.factor
            self.last_change = self.steps
            if self.ladder is not None:
                self.ladder.after_growth()
                self.window = self.ladder.window
        self.stuck = self.stuck + 1 if overflow and self.value == former else 0
        self.steps += 1

    def state(self) -> dict[str, Any]:
        """What a resume needs."""
        ladder = self.ladder and [self.ladder.rung, self.ladder.growths, self.ladder.overflows]
        return {"value": self.value, "steps": self.steps, "last_change": self.last_change, "ladder": ladder}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.value = state["value"]
        self.steps, self.last_change = int(state["steps"]), int(state["last_change"])
        if self.ladder is not None and state["ladder"] is not None:
            self.ladder.rung, self.ladder.growths, self.ladder.overflows = state["ladder"]
            self.window = self.ladder.window
