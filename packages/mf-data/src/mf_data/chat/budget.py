"""The time and the memory that one rendering of a template may take.

A template comes with a model, from anywhere. Jinja's sandbox keeps it away from Python's insides, but lets it run for
ever or double a text until the memory is full. Templates that are meant well stay orders of magnitude below the limits.
"""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2.exceptions import SecurityError

MOST_SECONDS = 10.0
MOST_CHARACTERS = 1 << 24
"""Of any text that a template makes, its result included."""
_MOST_BITS = 4096
"""Of a number."""

_WIDE_FORMAT = re.compile(r"\d{6}|\*")
"""A width of hundreds of thousands, or one that is only given later."""

_FORMATS = ("format", "format_map", "%", "strftime_now")
_REPEATS = ("*", "indent", "tojson", "expandtabs")
"""Operations that may put as many characters as a number says between any two others."""
_WIDENS = ("center", "ljust", "rjust", "zfill", "batch", "slice", "wordwrap")
"""Operations that may make a text as long as a number says."""

_ELEMENT = 64
"""Characters as which an element of a list counts: so much memory, and time to look at, it takes."""


class Budget:
    """What is left for one rendering."""

    def __init__(self, seconds: float = MOST_SECONDS):
        """Starts the clock."""
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._written = 0

    def spend(self, characters: int = 0) -> None:
        """Look at the clock and at what was written: in each turn of a loop, at each call, for each value written.

        Args:
            characters: how many more are written, to the result or to a part that is kept.
        Raises:
            SecurityError: the time is up, or it is too much.
        """
        if time.monotonic() > self._deadline:
            raise SecurityError(f"it takes longer than {self._seconds:g} s")
        self._written += characters
        _limit(self._written)


def check_operation(name: str, values: Sequence[Any]) -> None:
    """Look at a method, a filter or an operator before it is applied.

    Args:
        name: `replace`, `join`, `%`, …; any other name stands for something whose result is not larger than its input.
        values: what it is applied to, then its arguments.
    Raises:
        SecurityError: the result could be too large.
    """
    sizes = [size_of(value) for value in values]
    numbers = [abs(value) for value in values if isinstance(value, int)]
    bits = sum(number.bit_length() for number in numbers)
    if name == "**":
        bits = max(numbers[:1], default=0).bit_length() * max(numbers[1:], default=0)
    if name in ("*", "**", "+") and bits > _MOST_BITS:
        raise SecurityError(f"it computes with numbers of more than {_MOST_BITS} bits")
    if name in _FORMATS and any(isinstance(value, str) and _WIDE_FORMAT.search(value) for value in values):
        raise SecurityError("it formats with a width of hundreds of thousands of characters")
    total = sum(sizes)
    if name in _REPEATS and len(numbers) < len(values):
        total *= max([1, *numbers])
    elif name in _WIDENS:
        total += sum(numbers)
    elif name == "replace" and len(values) > 2 and all(isinstance(value, str) for value in values[:3]):
        total += values[0].count(values[1]) * len(values[2])
    elif name == "join":
        total *= max((size for size, value in zip(sizes, values, strict=True) if isinstance(value, str)), default=1)
    _limit(total)


def size_of(value: Any) -> int:
    """Characters and elements of a value, nested ones included and as often as they occur.

    Raises:
        SecurityError: there are more than `MOST_CHARACTERS`.
    """
    size = 0
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, str):
            size += len(current)
        elif isinstance(current, Mapping):
            waiting += [*current.keys(), *current.values()]
        elif isinstance(current, list | tuple | set | frozenset):
            waiting += current
        size += _ELEMENT if waiting else 0
        _limit(size + _ELEMENT * len(waiting))
    return size


def _limit(size: int) -> None:
    if size > MOST_CHARACTERS:
        raise SecurityError(f"it makes more than {MOST_CHARACTERS} characters")
