"""The layout of one tensor: which boxes of the whole each rank holds, and where they lie in its local piece."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Self

from mf_config.layout.mesh import Mesh
from mf_config.layout.placement import Fused, Placement, Replicate, Shard, placement_from_json
from mf_config.layout.plain import list_of, member, whole_numbers
from mf_config.layout.spans import Span, cut, split, total
from mf_config.problems import UserError


@dataclass(frozen=True, slots=True)
class Box:
    """A block that has one place in the whole tensor and one in a local piece.

    Attributes:
        start: first index in the whole tensor, per dimension.
        local_start: first index in the local piece, per dimension.
        shape: extents, the same in both.
    """

    start: tuple[int, ...]
    local_start: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def whole(self) -> tuple[slice, ...]:
        """The block as an index into the whole tensor."""
        return _slices(self.start, self.shape)

    @property
    def local(self) -> tuple[slice, ...]:
        """The block as an index into the local piece."""
        return _slices(self.local_start, self.shape)


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """A tensor's shape and how it is divided over a mesh.

    The placements apply in their order, each to what the ones before it left on a rank. So `Shard(0, "tp")` followed
    by `Shard(0, "dp")` divides the rows of every tensor-parallel rank among its data-parallel replicas.

    Attributes:
        shape: extents of the whole tensor.
        placements: divisions, at most one for each axis; `Replicate()` divides nothing and is left out of the list.
        padded_shape: extents that are divided, where rows are added so that the division comes out even (a padded
            vocabulary); the added elements follow the real ones and belong to no box. Equal to `shape` where not given.
    """

    shape: tuple[int, ...]
    placements: tuple[Placement, ...] = ()
    padded_shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Check that the placements fit the shape.

        Raises:
            UserError: if a dimension does not exist, an axis is used twice, joined parts do not fill their dimension or
                are divided after another placement, or the padded shape is smaller than the shape.
        """
        divisions = tuple(placement for placement in self.placements if not isinstance(placement, Replicate))
        object.__setattr__(self, "placements", divisions)
        object.__setattr__(self, "padded_shape", self.padded_shape or self.shape)
        if len(self.padded_shape) != len(self.shape) or any(
            length < 0 or padded < length for length, padded in zip(self.shape, self.padded_shape, strict=True)
        ):
            raise UserError(
                f"layout: shape {list(self.shape)}, padded {list(self.padded_shape)}. "
                "Allowed: lengths from 0, padded lengths no smaller."
            )
        _check_divisions(divisions, self.padded_shape)

    @property
    def divisions(self) -> tuple[Shard | Fused, ...]:
        """The placements that divide something, in order."""
        return tuple(placement for placement in self.placements if not isinstance(placement, Replicate))

    def local_shape(self, mesh: Mesh, rank: int) -> tuple[int, ...]:
        """Shape of a rank's local piece, padding included.

        Args:
            mesh: the mesh of all ranks.
            rank: the rank.

        Returns:
            The extents; 0 where a dimension is too short to give this rank anything.

        Raises:
            UserError: if the mesh has no such rank, or lacks an axis of the placements.
        """
        return tuple(total(spans) for spans in self._spans(mesh, rank))

    def boxes(self, mesh: Mesh, rank: int) -> list[Box]:
        """The blocks of the whole tensor that a rank holds; together they tile its local piece but for padding.

        Args:
            mesh: the mesh of all ranks.
            rank: the rank.

        Returns:
            The blocks in local order; none where the rank holds padding only, or nothing.

        Raises:
            UserError: if the mesh has no such rank, or lacks an axis of the placements.
        """
        per_dim = [
            _with_local_start(spans, length) for spans, length in zip(self._spans(mesh, rank), self.shape, strict=True)
        ]
        return [
            Box(
                tuple(span.start for span, _ in combination),
                tuple(local_start for _, local_start in combination),
                tuple(span.length for span, _ in combination),
            )
            for combination in product(*per_dim)
        ]

    def distinct_ranks(self, mesh: Mesh) -> list[int]:
        """One rank for each different piece: the first of those that hold the same.

        Args:
            mesh: the mesh of all ranks.

        Returns:
            Ranks in ascending order whose pieces make up the whole tensor, each element once.

        Raises:
            UserError: if the mesh lacks an axis of the placements.
        """
        dividing = {division.axis for division in self.divisions}
        copies = [axis for axis in mesh.axes if axis not in dividing]
        return [group[0] for group in mesh.groups(copies)]

    def to_json(self) -> dict[str, object]:
        """The layout as plain data for a JSON file."""
        data: dict[str, object] = {
            "shape": list(self.shape),
            "placements": [placement.to_json() for placement in self.placements],
        }
        if self.padded_shape != self.shape:
            data["padded_shape"] = list(self.padded_shape)
        return data

    @classmethod
    def from_json(cls, data: object) -> Self:
        """The layout that `to_json` described.

        Args:
            data: what a JSON file holds.

        Returns:
            The layout.

        Raises:
            UserError: if the data does not describe a layout.
        """
        shape = whole_numbers(member(data, "shape", "layout"), "layout: shape")
        placements = list_of(object, member(data, "placements", "layout"), "layout: placements")
        padded: tuple[int, ...] = ()
        if isinstance(data, dict) and "padded_shape" in data:
            padded = whole_numbers(data["padded_shape"], "layout: padded_shape")
        return cls(shape, tuple(placement_from_json(item) for item in placements), padded)

    def _spans(self, mesh: Mesh, rank: int) -> list[list[Span]]:
        """What a rank holds of each dimension, in local order, padding included."""
        coordinates = mesh.coordinates(rank)
        spans = [[Span(0, length)] if length else [] for length in self.padded_shape]
        for division in self.divisions:
            held = spans[division.dim]
            count = mesh.degree(division.axis)
            parts = division.parts if isinstance(division, Fused) else (total(held),)
            spans[division.dim] = split(held, parts, division.unit, count, coordinates[division.axis])
        return spans


def _check_divisions(divisions: Sequence[Shard | Fused], shape: Sequence[int]) -> None:
    axes: set[str] = set()
    dims: set[int] = set()
    for division in divisions:
        if division.dim >= len(shape):
            raise UserError(f"layout: {division} of shape {list(shape)}. Allowed: dims below {len(shape)}.")
        if division.axis in axes:
            raise UserError(f"layout: axis {division.axis} divides twice. Allowed: each axis once.")
        if isinstance(division, Fused):
            if sum(division.parts) != shape[division.dim]:
                raise UserError(f"layout: {division} of {shape[division.dim]}. Allowed: parts that fill the dimension.")
            if division.dim in dims:
                raise UserError(f"layout: {division} after another division of it. Allowed: joined parts come first.")
        axes.add(division.axis)
        dims.add(division.dim)


def _with_local_start(spans: Sequence[Span], length: int) -> list[tuple[Span, int]]:
    """The real part of each span with its place in the local piece; what lies beyond `length` is padding."""
    found = []
    local_start = 0
    for span in spans:
        real = cut([span], 0, length - span.start)
        found += [(part, local_start) for part in real]
        local_start += span.length
    return found


def _slices(start: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(first, first + extent) for first, extent in zip(start, shape, strict=True))
