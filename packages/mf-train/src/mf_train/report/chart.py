"""One chart as SVG: curves over steps, drawn without a script, so that it shows wherever HTML does."""

from collections.abc import Mapping
from html import escape
from itertools import pairwise

from mf_train.report.run_records import Points
from mf_train.report.scale import Scale, short

WIDTH, HEIGHT = 560, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 20, 10, 26
"""Room around the plot, for the marks' numbers."""

_MOST_POINTS = 600
"""About one for each pixel of the plot's width; more would not be seen."""

_SPARSE = 60
"""A curve of so few points has a dot at each."""


def chart(title: str, curves: Mapping[str, Points], logarithmic: bool = False) -> str:
    """Draw curves over the same steps.

    Args:
        title: what the chart shows.
        curves: name of each curve to its points, at least one each; the first one is the main one.
        logarithmic: whether values are drawn on a logarithmic scale, where all are above 0.

    Returns:
        A `figure` element.
    """
    thinned = {name: thin(points) for name, points in curves.items()}
    x = _scale_of_steps([step for points in thinned.values() for step in (points.steps[0], points.steps[-1])])
    y = Scale.over([value for points in thinned.values() for value in points.values], logarithmic)
    drawn = "".join(_curve(number, name, points, x, y) for number, (name, points) in enumerate(thinned.items()))
    legend = "".join(
        f'<span class="key c{number}">{escape(name)}</span>' for number, name in enumerate(curves) if len(curves) > 1
    )
    picture = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{_axes(x, y)}{drawn}</svg>'
    return f"<figure><figcaption>{escape(title)}{legend}</figcaption>{picture}</figure>"


def _scale_of_steps(steps: list[int]) -> Scale:
    """Steps from the first to the last; to the next one where there is one alone, for none is below 0."""
    first, last = min(steps), max(steps)
    return Scale(float(first), float(max(last, first + 1)))


def thin(points: Points) -> Points:
    """A curve with fewer points that looks the same: of each stretch, the lowest and the highest value stay."""
    count = len(points.steps)
    if count <= _MOST_POINTS:
        return points
    stretches = _MOST_POINTS // 2
    kept = {0, count - 1}
    for begin, end in pairwise(count * number // stretches for number in range(stretches + 1)):
        stretch = range(begin, end)
        kept |= {min(stretch, key=points.values.__getitem__), max(stretch, key=points.values.__getitem__)}
    order = sorted(kept)
    return Points(tuple(points.steps[at] for at in order), tuple(points.values[at] for at in order))


def _curve(number: int, name: str, points: Points, x: Scale, y: Scale) -> str:
    places = [(_x(x, step), _y(y, value)) for step, value in zip(points.steps, points.values, strict=True)]
    line = " ".join(f"{across:.1f},{down:.1f}" for across, down in places)
    parts = [f'<polyline class="c{number}" points="{line}"/>']
    for (across, down), step, value in zip(places, points.steps, points.values, strict=True):
        # What a pointer reads; a dot that shows only where there are few.
        shown = "dot" if len(places) <= _SPARSE else "spot"
        label = f"{escape(name)}, step {step:,}: {short(value)}"
        parts.append(f'<circle class="{shown} c{number}" cx="{across:.1f}" cy="{down:.1f}" r="3">')
        parts.append(f"<title>{label}</title></circle>")
    return "".join(parts)


def _axes(x: Scale, y: Scale) -> str:
    parts = []
    for mark in y.marks(5):
        down = _y(y, mark)
        parts.append(f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{down:.1f}" y2="{down:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{down + 4:.1f}" text-anchor="end">{short(mark)}</text>')
    for mark in x.marks(6):
        if mark == int(mark):
            parts.append(f'<text x="{_x(x, mark):.1f}" y="{HEIGHT - 8}" text-anchor="middle">{short(mark)}</text>')
    return "".join(parts)


def _x(scale: Scale, step: float) -> float:
    return _LEFT + scale.place(step) * (WIDTH - _LEFT - _RIGHT)


def _y(scale: Scale, value: float) -> float:
    return HEIGHT - _BOTTOM - scale.place(value) * (HEIGHT - _TOP - _BOTTOM)
