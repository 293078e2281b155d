"""Short text for many names: `model.layers.{0..27}.norm.weight` instead of 28 lines."""

import math
import re
from collections.abc import Iterable, Sequence

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)")
"""A whole dotted segment that is a number, as for layers and experts."""


def collapse(names: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Group names that differ in their numbers only.

    Args:
        names: dotted parameter names.

    Returns:
        For each group a text that names all of it and its members, in order of first appearance. Names whose numbers do
        not fill a regular grid stay by themselves.
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_NUMBER.sub("{}", name), []).append(name)
    found: list[tuple[str, list[str]]] = []
    for template, members in groups.items():
        numbers = [sorted(set(column)) for column in zip(*(_numbers(name) for name in members), strict=True)]
        if math.prod(map(len, numbers)) == len(members):
            found.append((template.format(*map(_ranges, numbers)), members))
        else:
            found += [(name, [name]) for name in members]
    return found


def first_number(name: str) -> int | None:
    """The first number in a dotted name, which is that of the block where there is one; None for none."""
    return next(iter(_numbers(name)), None)


def _numbers(name: str) -> list[int]:
    return [int(number) for number in _NUMBER.findall(name)]


def _ranges(values: Sequence[int]) -> str:
    """`3` for a single number, else `{0..2,5}`; the values ascend."""
    if len(values) == 1:
        return str(values[0])
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return "{" + ",".join(str(first) if first == last else f"{first}..{last}" for first, last in runs) + "}"
