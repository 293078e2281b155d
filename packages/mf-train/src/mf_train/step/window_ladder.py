"""The windows of the adaptive loss scale: how many good steps it waits for, step by step longer."""

from dataclasses import dataclass

_PATIENCE = 3
"""Growths after which the window gets longer, and overflows after which it falls to one step."""

_BELOW = -1
"""The rung of a window of one step."""


@dataclass(slots=True)
class WindowLadder:
    """A place on a ladder of windows.

    Attributes:
        rungs: the windows, shortest first.
        rung: the present one; -1 for a window of one step, below the ladder.
        growths: growths of the scale since the last rung.
        overflows: overflows since the last growth.

    Source: MindFormers 1.3, AdaptiveLossScaleUpdateCell.
    """

    rungs: tuple[int, ...]
    rung: int = 0
    growths: int = 0
    overflows: int = 0

    @classmethod
    def of(cls, window: int, shortest: int, longest: int) -> "WindowLadder":
        """The ladder between two windows.

        Args:
            window: the first window; the shortest one is taken where it is no rung.
            shortest: the lowest rung.
            longest: the highest rung.
        """
        rungs = [longest]
        while rungs[-1] > shortest:
            rungs.append(max(_next_lower(rungs[-1], shortest), shortest))
        rungs.reverse()
        return cls(tuple(rungs), rungs.index(window) if window in rungs else 0)

    @property
    def window(self) -> int:
        """Good steps in a row before the scale grows."""
        return 1 if self.rung == _BELOW else self.rungs[self.rung]

    def after_growth(self) -> None:
        """The scale has grown."""
        self.overflows = 0
        self.growths += 1
        if self.growths == _PATIENCE:
            self.growths = 0
            self.rung = min(self.rung + 1, len(self.rungs) - 1)

    def after_overflow(self) -> None:
        """Gradients have overflowed."""
        self.overflows += 1
        if self.overflows == _PATIENCE and self.rung > 0:
            self.growths = self.overflows = 0
            self.rung = _BELOW


def _next_lower(window: int, shortest: int) -> int:
    """The rung below: hundreds by halves down to 100, then 50, then in steps of half the shortest one."""
    if window > 100:
        return max(window // 200 * 100, 100)
    return 50 if window == 100 else window - max(shortest // 2, 1)
