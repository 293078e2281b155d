"""From numbers to places on a chart: linear or logarithmic scales, and the round numbers at which they are marked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
"""A step between marks is one of these times a power of ten."""

_SAME, _NOTHING = 1e-9, 1e-100
"""Numbers that differ by this share of their size are drawn as one, those below this size as 0."""

_MUCH = 5.0
"""Below this ratio of the ends a logarithmic scale looks like a linear one, and has its marks."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps a range of numbers to 0 to 1.

    Attributes:
        low: the number at 0.
        high: the number at 1, above `low`.
        logarithmic: whether equal ratios are equal distances; then both are above 0.
    """

    low: float
    high: float
    logarithmic: bool = False

    @classmethod
    def over(cls, values: Sequence[float], logarithmic: bool = False) -> "Scale":
        """The scale that just holds some numbers, at least one; equal ones get room on both sides.

        Logarithmic only where all numbers are above 0.
        """
        low, high = min(values), max(values)
        size = max(abs(low), abs(high))
        if high - low <= size * _SAME or size < _NOTHING:
            room = size / 2 if size >= _NOTHING else 1.0
            low, high = low - room, high + room
        return cls(low, high, logarithmic and low > 0)

    def place(self, value: float) -> float:
        """Where a number lies, 0 to 1."""
        if self.logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def marks(self, most: int) -> list[float]:
        """Round numbers within the range, ascending.

        Args:
            most: about how many at most, at least 2.
        """
        if self.logarithmic and self.high / self.low > _MUCH:
            return self._marks_by_ratio(most)
        step = _round_up((self.high - self.low) / most)
        first = math.ceil(self.low / step - 1e-9)
        count = math.floor(self.high / step + 1e-9) - first + 1
        marks = [float(f"{(first + number) * step:.10g}") for number in range(count)]
        return [mark for mark in marks if self.low <= mark <= self.high]

    def _marks_by_ratio(self, most: int) -> list[float]:
        """Powers of ten, and their multiples by 2 and 5 where there is room."""
        powers = range(math.floor(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
        factors = (1.0, 2.0, 5.0) if 3 * len(powers) <= most + 2 else (1.0,)
        stride = math.ceil(len(powers) / most)
        marks = [factor * 10.0**power for power in powers[::stride] for factor in factors]
        return [mark for mark in marks if self.low <= mark * (1 + 1e-9) and mark <= self.high * (1 + 1e-9)]


def _round_up(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return power * next(factor for factor in _ROUND if factor * power >= step * (1 - 1e-9))


def short(value: float) -> str:
    """A number in a few characters: `0.0125`, `3.2e-05`, `12,400`, `1.2 M`."""
    size = abs(value)
    if size >= 1e9:
        return f"{value / 1e9:.4g} G"
    if size >= 1e6:
        return f"{value / 1e6:.4g} M"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
