"""The named-axis grid of processes: which rank stands where, and which ranks work together along an axis."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Self

from mf_config.layout.plain import list_of, member, whole_numbers
from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest

AXES = ("pp", "dp", "ep", "cp", "tp")
"""The axes of every standard mesh, outermost first: pipeline, data, expert, context and tensor parallel.

This is the rank order of MindFormers: pipeline stages are blocks of neighbouring ranks, and inside a stage the device
matrix is row-major over (data, context, model). There expert parallelism takes its ranks from data parallelism, inner
part first, so `ep` follows `dp` directly and MindFormers' `data_parallel` is `dp * ep` here. Tensor parallel ranks
talk most and are neighbours.
"""


@dataclass(frozen=True, slots=True)
class Mesh:
    """An ordered grid of processes; rank numbers run along the last axis first (row-major).

    Attributes:
        axes: names, outermost first, each once.
        degrees: number of ranks along each axis, each at least 1.
    """

    axes: tuple[str, ...]
    degrees: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check the axes.

        Raises:
            UserError: if an axis is named twice, or a degree is missing or below 1.
        """
        if len(self.axes) != len(self.degrees) or len(set(self.axes)) != len(self.axes):
            raise UserError(f"mesh: axes {list(self.axes)} with degrees {list(self.degrees)}. Allowed: each axis once.")
        for axis, degree in zip(self.axes, self.degrees, strict=True):
            if degree < 1:
                raise UserError(f"mesh: axis {axis} has degree {degree}. Allowed: at least 1.")

    @classmethod
    def of(cls, *, pp: int = 1, dp: int = 1, ep: int = 1, cp: int = 1, tp: int = 1) -> Self:
        """The standard mesh, with all axes of `AXES` in that order.

        Args:
            pp: pipeline stages.
            dp: data-parallel replicas that hold the same experts.
            ep: data-parallel ranks among which the experts are divided.
            cp: ranks among which a sequence is divided.
            tp: ranks among which the weights of a layer are divided.

        Returns:
            The mesh.

        Raises:
            UserError: if a degree is below 1.
        """
        return cls(AXES, (pp, dp, ep, cp, tp))

    def __str__(self) -> str:
        """`dp 2, tp 4`: the axes that divide anything; `one process` where none does."""
        used = [f"{axis} {degree}" for axis, degree in zip(self.axes, self.degrees, strict=True) if degree > 1]
        return ", ".join(used) or "one process"

    @property
    def size(self) -> int:
        """Number of ranks."""
        return math.prod(self.degrees)

    def degree(self, axis: str) -> int:
        """Number of ranks along an axis.

        Raises:
            UserError: if the mesh has no such axis.
        """
        return self.degrees[self._position(axis)]

    def coordinates(self, rank: int) -> dict[str, int]:
        """Where a rank stands.

        Args:
            rank: 0 to size - 1.

        Returns:
            Axis to position along it, counted from 0.

        Raises:
            UserError: if there is no such rank.
        """
        if not 0 <= rank < self.size:
            raise UserError(f"mesh ({self}): there is no rank {rank}. Allowed: 0 to {self.size - 1}.")
        found: dict[str, int] = {}
        for axis, degree in zip(reversed(self.axes), reversed(self.degrees), strict=True):
            rank, found[axis] = divmod(rank, degree)
        return {axis: found[axis] for axis in self.axes}

    def rank(self, coordinates: Mapping[str, int]) -> int:
        """The rank that stands at a position; the inverse of `coordinates`.

        Args:
            coordinates: axis to position along it; axes left out are at 0.

        Returns:
            The rank.

        Raises:
            UserError: for an unknown axis or a position beyond its degree.
        """
        for axis, position in coordinates.items():
            if not 0 <= position < self.degree(axis):
                raise UserError(f"mesh: axis {axis} has no position {position}. Allowed: 0 to {self.degree(axis) - 1}.")
        rank = 0
        for axis, degree in zip(self.axes, self.degrees, strict=True):
            rank = rank * degree + coordinates.get(axis, 0)
        return rank

    def group(self, rank: int, axes: Sequence[str]) -> tuple[int, ...]:
        """The ranks that differ from `rank` along the given axes only, itself included.

        Args:
            rank: a member of the group.
            axes: the axes along which the members differ.

        Returns:
            The members in ascending order.

        Raises:
            UserError: for an unknown rank or axis.
        """
        here = self.coordinates(rank)
        choices = product(*(range(self.degree(axis)) for axis in axes))
        return tuple(sorted(self.rank({**here, **dict(zip(axes, choice, strict=True))}) for choice in choices))

    def groups(self, axes: Sequence[str]) -> list[tuple[int, ...]]:
        """All groups along the given axes; each rank is in exactly one of them.

        Args:
            axes: the axes along which the members of a group differ.

        Returns:
            The groups, ordered by their first member.

        Raises:
            UserError: for an unknown axis.
        """
        lines = product(*(range(1 if axis in axes else self.degree(axis)) for axis in self.axes))
        firsts = (self.rank(dict(zip(self.axes, line, strict=True))) for line in lines)
        return [self.group(first, axes) for first in firsts]

    def to_json(self) -> dict[str, object]:
        """The mesh as plain data for a JSON file."""
        return {"axes": list(self.axes), "degrees": list(self.degrees)}

    @classmethod
    def from_json(cls, data: object) -> Self:
        """The mesh that `to_json` described.

        Args:
            data: what a JSON file holds.

        Returns:
            The mesh.

        Raises:
            UserError: if the data does not describe a mesh.
        """
        axes = list_of(str, member(data, "axes", "mesh"), "mesh: axes")
        return cls(tuple(axes), whole_numbers(member(data, "degrees", "mesh"), "mesh: degrees"))

    def _position(self, axis: str) -> int:
        if axis not in self.axes:
            raise UserError(_unknown_axis(axis, self.axes))
        return self.axes.index(axis)


def _unknown_axis(axis: str, known: Iterable[str]) -> str:
    """The message about an axis that a mesh does not have."""
    axes = list(known)
    guess = nearest(axis, axes)
    return f"mesh: no axis {axis!r}. Allowed: {name_values(axes)}." + (f" Did you mean {guess}?" if guess else "")
