"""What MindSpore reports of a compiled step: the piece of each parameter that a rank holds. Needs no MindSpore.

A rank's piece follows from a device matrix, whose last axis changes first from rank to rank, and a map that names for
each dimension of the tensor the axis that divides it, counted from the end of the matrix; -1 where none does. Ranks
that hold the same may then share its rows (the parallel optimizer).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mf_parallel.names import collapse
from mf_parallel.plan import ParallelPlan

_NO_AXIS = -1

Bounds = tuple[tuple[int, int], ...]
"""For each dimension the first element and the one behind the last."""


@dataclass(frozen=True, slots=True)
class Reported:
    """The division of one parameter.

    Attributes:
        shape: the whole shape.
        matrix: the arrangement of the stage's devices.
        axes: for each dimension the axis of the matrix that divides it, from the end; -1 for none.
        sharer: number of the rank among those that share the rows of their piece.
        sharers: how many these are; 1 where nothing is shared.
    """

    shape: tuple[int, ...]
    matrix: tuple[int, ...]
    axes: tuple[int, ...]
    sharer: int = 0
    sharers: int = 1

    def bounds(self, place: int) -> Bounds:
        """The piece of a rank.

        Args:
            place: number of the rank in its stage.
        """
        found = []
        for size, axis in zip(self.shape, self.axes, strict=True):
            count, position = 1, 0
            if axis != _NO_AXIS:
                count = self.matrix[-1 - axis]
                position = place // math.prod(self.matrix[len(self.matrix) - axis :]) % count
            found.append((size // count * position, size // count * (position + 1)))
        if self.sharers > 1:
            first, end = found[0]
            rows = (end - first) // self.sharers
            found[0] = (first + rows * self.sharer, first + rows * (self.sharer + 1))
        return tuple(found)


def planned_bounds(plan: ParallelPlan, name: str, rank: int) -> Bounds:
    """The piece of a parameter that a plan gives to a rank.

    Args:
        plan: without paddings and joined matrices, so that each piece is one box.
        name: the parameter.
        rank: a rank that holds it.
    """
    (box,) = plan.parameters[name].layout.boxes(plan.mesh, rank)
    shape = plan.parameters[name].layout.shape
    bounds = (part.indices(size) for part, size in zip(box.whole, shape, strict=True))
    return tuple((first, end) for first, end, _ in bounds)


def differences(plan: ParallelPlan, reported: Mapping[str, Reported], rank: int) -> list[str]:
    """Where the compiler divides otherwise than the plan.

    Args:
        plan: the layout of what the ranks hold between steps.
        reported: name of each parameter on the rank to its division.
        rank: the rank.

    Returns:
        A line for each group of parameters that are alike; none where both agree.
    """
    place = rank % (plan.mesh.size // plan.split.stages)
    held = plan.held(rank)
    problems: dict[str, list[str]] = {}
    for name in dict.fromkeys((*held, *reported)):
        if name not in reported:
            problems.setdefault("the compiler gives the rank nothing of it", []).append(name)
        elif name not in held:
            problems.setdefault("the plan gives the rank nothing of it", []).append(name)
        else:
            planned, found = planned_bounds(plan, name, rank), reported[name].bounds(place)
            if planned != found:
                text = f"the plan gives it {_text(planned)}, the compiler {_text(found)}"
                problems.setdefault(text, []).append(name)
    return [f"{text}: {problem}" for problem, names in problems.items() for text, _ in collapse(names)]


def _text(bounds: Sequence[tuple[int, int]]) -> str:
    return "[" + ", ".join(f"{first}:{end}" for first, end in bounds) + "]"
