"""Tensors cut over a mesh: the whole made from the ranks' pieces, and one rank's pieces made from the whole."""

from collections.abc import Mapping
from functools import cache

import numpy as np

from mf_ckpt.dtypes import Array
from mf_ckpt.sources.source import Slices, Source, TableSource, bounded, extents, overlap, part, shifted, storage
from mf_ckpt.tensor_info import TensorInfo
from mf_config.layout import Box, Mesh, TensorLayout
from mf_config.problems import UserError


class SlicedSource(TableSource[TensorLayout]):
    """Whole tensors, read from the pieces that ranks hold.

    Where several ranks hold the same piece, the first one that has it is read. A rank may lack a tensor: pipeline
    stages have their own, and replicas need not be stored.
    """

    def __init__(self, sources_by_rank: Mapping[int, Source], mesh: Mesh, layouts: Mapping[str, TensorLayout]):
        """Takes the pieces and how they were cut.

        Args:
            sources_by_rank: rank to its local pieces, under the whole tensors' names.
            mesh: the mesh of all ranks.
            layouts: how each tensor is cut; only tensors named here are part of the source. One that is not cut has
                `TensorLayout(shape)`.

        Raises:
            UserError: a piece is missing, or has another type or shape than its layout says.
        """
        super().__init__(layouts, "sliced checkpoint")
        self._sources = sources_by_rank
        self._mesh = mesh
        self._holders = {name: self._find_holders(name) for name in layouts}
        self._boxes: dict[str, list[tuple[int, Box]]] = {}

    @property
    def mesh(self) -> Mesh:
        """The mesh of the ranks that hold the pieces."""
        return self._mesh

    def info(self, name: str) -> TensorInfo:
        """Stored element type and shape of the whole tensor, padding left out."""
        layout = self._entry(name)
        return TensorInfo(self._sources[self._holders[name][0]].info(name).dtype, layout.shape)

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """The stored bits of a tensor, or a part, put together from the pieces that hold them."""
        info = self.info(name)
        full = bounded(name, slices, info.shape)
        out = np.empty(extents(full), storage(info))
        self.raw_into(name, full, out)
        return out

    def raw_into(self, name: str, slices: Slices, out: Array) -> None:
        """Copy stored bits into an array, each from the one piece that holds it."""
        full = bounded(name, slices, self.info(name).shape)
        origin = tuple(part.start for part in full)
        for rank, box in self._pieces(name):
            common = overlap(box.whole, full)
            if common is not None:
                inside = shifted(common, _difference(box.start, box.local_start))
                self._sources[rank].raw_into(name, inside, part(out, shifted(common, origin)))

    def _pieces(self, name: str) -> list[tuple[int, Box]]:
        if name not in self._boxes:
            layout = self._table[name]
            self._boxes[name] = [(rank, box) for rank in self._holders[name] for box in layout.boxes(self._mesh, rank)]
        return self._boxes[name]

    def _find_holders(self, name: str) -> list[int]:
        """One rank for each different piece of a tensor: the first that has it."""
        layout = self._table[name]
        found: list[int] = []
        for group in holder_groups(layout, self._mesh):
            rank = next((rank for rank in group if rank in self._sources and name in self._sources[rank]), None)
            if rank is None:
                raise UserError(f"tensor {name!r}: no piece of ranks {list(group)}. Allowed: a piece of one of them.")
            self._check_piece(name, rank, found)
            found.append(rank)
        return found

    def _check_piece(self, name: str, rank: int, before: list[int]) -> None:
        info, expected = self._sources[rank].info(name), self._table[name].local_shape(self._mesh, rank)
        if info.shape != expected:
            raise UserError(
                f"tensor {name!r}: rank {rank} has a piece of shape {list(info.shape)}. Allowed: {list(expected)}."
            )
        if before and info.dtype != self._sources[before[0]].info(name).dtype:
            raise UserError(f"tensor {name!r}: ranks {before[0]} and {rank} store it in different types.")


class RankSource(TableSource[TensorLayout]):
    """The local pieces of one rank, read from whole tensors; padding is zeros."""

    def __init__(self, whole: Source, mesh: Mesh, layouts: Mapping[str, TensorLayout], rank: int):
        """Takes the whole and how to cut it.

        Args:
            whole: the whole tensors.
            mesh: the mesh of all ranks.
            layouts: how each tensor is to be cut; only tensors named here are part of the source.
            rank: the rank.
        """
        super().__init__(layouts, f"rank {rank}")
        self._whole = whole
        self._mesh = mesh
        self._rank = rank
        self._boxes: dict[str, list[Box]] = {}

    def info(self, name: str) -> TensorInfo:
        """Stored element type, and shape of the rank's piece with its padding."""
        layout = self._entry(name)
        return TensorInfo(self._whole.info(name).dtype, layout.local_shape(self._mesh, self._rank))

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """The stored bits of a piece, or a part of it."""
        info = self.info(name)
        full = bounded(name, slices, info.shape)
        out = np.empty(extents(full), storage(info))
        self.raw_into(name, full, out)
        return out

    def raw_into(self, name: str, slices: Slices, out: Array) -> None:
        """Copy stored bits of a piece into an array."""
        full = bounded(name, slices, self.info(name).shape)
        origin = tuple(part.start for part in full)
        if name not in self._boxes:
            self._boxes[name] = self._table[name].boxes(self._mesh, self._rank)
        filled = 0
        for box in self._boxes[name]:
            common = overlap(box.local, full)
            if common is not None:
                inside = part(out, shifted(common, origin))
                self._whole.raw_into(name, shifted(common, _difference(box.local_start, box.start)), inside)
                filled += inside.size
        # Padding and real elements may lie side by side; only a piece that has padding needs both.
        if filled < out.size:
            self._clear_padding(name, full, origin, out)

    def _clear_padding(self, name: str, full: Slices, origin: tuple[int, ...], out: Array) -> None:
        padding = np.ones(out.shape, np.bool_)
        for box in self._boxes[name]:
            common = overlap(box.local, full)
            if common is not None:
                padding[shifted(common, origin)] = False
        out[padding] = np.zeros((), out.dtype)


def storing_ranks(layout: TensorLayout, mesh: Mesh, at: tuple[str, int] | None) -> tuple[int, ...]:
    """The ranks that store a piece of a tensor: of those that hold the same piece, the first one.

    Args:
        layout: how the tensor is cut.
        mesh: the mesh of all ranks.
        at: an axis and the position on it to which the tensor is confined; None where it is everywhere.

    Returns:
        One rank for each different piece, ascending.
    """
    return _storing_ranks(mesh, frozenset(division.axis for division in layout.divisions), at)


@cache
def _storing_ranks(mesh: Mesh, dividing: frozenset[str], at: tuple[str, int] | None) -> tuple[int, ...]:
    groups = _groups(mesh, dividing)
    if at is None:
        return tuple(sorted(group[0] for group in groups))
    axis, position = at
    return tuple(sorted(next(r for r in group if mesh.coordinates(r)[axis] == position) for group in groups))


def holder_groups(layout: TensorLayout, mesh: Mesh) -> list[tuple[int, ...]]:
    """The ranks that hold the same piece of a tensor, a group for each different piece."""
    return _groups(mesh, frozenset(division.axis for division in layout.divisions))


@cache
def _groups(mesh: Mesh, dividing: frozenset[str]) -> list[tuple[int, ...]]:
    # Thousands of tensors of a model share a handful of such sets.
    return mesh.groups([axis for axis in mesh.axes if axis not in dividing])


def _difference(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a - b for a, b in zip(one, other, strict=True))
