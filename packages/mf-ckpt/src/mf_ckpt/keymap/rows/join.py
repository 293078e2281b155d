"""Rows for tensors joined along a dimension: fused query, key and value, or gate and up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mf_ckpt.dtypes import Array
from mf_ckpt.keymap.rows.row import Part, same_form
from mf_ckpt.sources.source import Slices, part
from mf_ckpt.tensor_info import TensorInfo
from mf_config.problems import UserError


@dataclass(frozen=True, slots=True)
class Join:
    """Several tensors joined into one along a dimension, such as q, k and v into a fused projection.

    Attributes:
        sources: name patterns of the parts, in order.
        target: name pattern of the whole.
        sizes: length of each part along `dim`, so that the whole can be split again.
        dim: the dimension, counted from 0.
        groups: 1 joins whole parts, [q, k, v]. More cut each part into so many equal pieces and join those group by
            group, [q0, k0, v0, q1, k1, v1, …], as models do that keep a key head beside its query heads.
    """

    sources: tuple[str, ...]
    target: str
    sizes: tuple[int, ...]
    dim: int = 0
    groups: int = 1

    def __post_init__(self) -> None:
        """Raises `ValueError` where the groups don't divide every size."""
        _check_groups(self.sizes, self.groups)

    @property
    def targets(self) -> tuple[str, ...]:
        """The one target pattern."""
        return (self.target,)

    def infos(self, sources: Sequence[TensorInfo]) -> list[TensorInfo]:
        """The parts' form, `sum(sizes)` long along `dim`; raises `UserError` where a part has another length."""
        first = same_form(self.target, sources, self.dim)
        found = tuple(info.shape[self.dim] for info in sources)
        if found != self.sizes:
            raise UserError(f"{self.target}: joins lengths {self.sizes} along dimension {self.dim}, found {found}")
        return [TensorInfo(first.dtype, _with_length(first.shape, self.dim, sum(self.sizes)))]

    def fill(self, target: int, slices: Slices, out: Array, sources: Sequence[Part]) -> None:
        """Copy what lies in the part from each source; see `Row.fill`."""
        wanted = slices[self.dim]
        for segment in _segments(self.sizes, self.groups):
            start, stop = max(wanted.start, segment.joined), min(wanted.stop, segment.joined + segment.length)
            if start < stop:
                shift = segment.own - segment.joined
                place = _along(out, self.dim, start - wanted.start, stop - wanted.start)
                sources[segment.number].read_into(_replaced(slices, self.dim, start + shift, stop + shift), place)

    def inverse(self) -> "Split":
        """The split into the same parts."""
        return Split(self.target, self.sources, self.sizes, self.dim, self.groups)


@dataclass(frozen=True, slots=True)
class Split:
    """One tensor cut into several along a dimension.

    Attributes:
        source: name pattern of the whole.
        targets: name patterns of the parts, in order.
        sizes: length of each part along `dim`.
        dim: the dimension, counted from 0.
        groups: as for `Join`.
    """

    source: str
    targets: tuple[str, ...]
    sizes: tuple[int, ...]
    dim: int = 0
    groups: int = 1

    def __post_init__(self) -> None:
        """Raises `ValueError` where the groups don't divide every size."""
        _check_groups(self.sizes, self.groups)

    @property
    def sources(self) -> tuple[str, ...]:
        """The one source pattern."""
        return (self.source,)

    def infos(self, sources: Sequence[TensorInfo]) -> list[TensorInfo]:
        """The whole's form with lengths `sizes` along `dim`; raises `UserError` where it has another length."""
        (whole,) = sources
        if whole.shape[self.dim] != sum(self.sizes):
            raise UserError(
                f"{self.source}: has length {whole.shape[self.dim]} along dimension {self.dim}, not {self.sizes}"
            )
        return [TensorInfo(whole.dtype, _with_length(whole.shape, self.dim, size)) for size in self.sizes]

    def fill(self, target: int, slices: Slices, out: Array, sources: Sequence[Part]) -> None:
        """Copy what lies in the part from the whole; see `Row.fill`."""
        wanted = slices[self.dim]
        for segment in _segments(self.sizes, self.groups):
            start, stop = max(wanted.start, segment.own), min(wanted.stop, segment.own + segment.length)
            if segment.number == target and start < stop:
                shift = segment.joined - segment.own
                place = _along(out, self.dim, start - wanted.start, stop - wanted.start)
                sources[0].read_into(_replaced(slices, self.dim, start + shift, stop + shift), place)

    def inverse(self) -> Join:
        """The join of the same parts."""
        return Join(self.targets, self.source, self.sizes, self.dim, self.groups)


@dataclass(frozen=True, slots=True)
class _Segment:
    """A stretch of part `number`: where it starts in that part (`own`) and in the whole (`joined`), and its length."""

    number: int
    own: int
    joined: int
    length: int


def _segments(sizes: Sequence[int], groups: int) -> Iterator[_Segment]:
    joined = 0
    for group in range(groups):
        for number, size in enumerate(sizes):
            length = size // groups
            yield _Segment(number, group * length, joined, length)
            joined += length


def _along(array: Array, dim: int, start: int, stop: int) -> Array:
    return part(array, (*(slice(None) for _ in range(dim)), slice(start, stop)))


def _check_groups(sizes: Sequence[int], groups: int) -> None:
    if groups < 1 or any(size % groups for size in sizes):
        raise ValueError(f"{groups} groups don't divide the lengths {sizes}")


def _with_length(shape: tuple[int, ...], dim: int, length: int) -> tuple[int, ...]:
    return (*shape[:dim], length, *shape[dim + 1 :])


def _replaced(slices: Slices, dim: int, start: int, stop: int) -> Slices:
    return (*slices[:dim], slice(start, stop), *slices[dim + 1 :])
