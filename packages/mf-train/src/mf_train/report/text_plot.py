"""A curve in characters, for a terminal."""

from collections.abc import Callable

from mf_train.report.scale import Scale, short

WIDTH, HEIGHT = 64, 14
"""Columns and rows of the plot itself."""

_BLOCKS = "▁▂▃▄▅▆▇█"
_LABEL = 10


def text_plot(value: Callable[[int], float], count: int) -> str:
    """Draw a function of the numbers from 0 to `count - 1` as columns of blocks.

    Args:
        value: the function.
        count: how many numbers, at least 1.

    Returns:
        Lines of text: the plot over an axis from 0 to its highest value, and the numbers below.
    """
    columns = min(WIDTH, count)
    places = [round(column * (count - 1) / max(columns - 1, 1)) for column in range(columns)]
    values = [value(place) for place in places]
    scale = Scale.over([0.0, *values])
    eighths = [round(scale.place(one) * HEIGHT * len(_BLOCKS)) for one in values]
    lines = []
    for row in reversed(range(HEIGHT)):
        label = short(scale.low + (scale.high - scale.low) * (row + 1) / HEIGHT) if row % 3 == HEIGHT % 3 - 1 else ""
        lines.append(f"{label:>{_LABEL}} │{''.join(_cell(eighth, row) for eighth in eighths)}")
    lines.append(f"{short(scale.low):>{_LABEL}} └{'─' * columns}")
    last = short(count - 1)
    lines.append(" " * (_LABEL + 2) + "0" + last.rjust(columns - 1))
    return "\n".join(line.rstrip() for line in lines)


def _cell(eighths: int, row: int) -> str:
    """One character of a column that is so many eighths of a row high."""
    filled = min(max(eighths - row * len(_BLOCKS), 0), len(_BLOCKS))
    return _BLOCKS[filled - 1] if filled else " "
