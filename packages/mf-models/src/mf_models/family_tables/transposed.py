"""Rows for fused projections that a file stores as [in, out], such as GPT-2's query, key and value."""

from collections.abc import Sequence
from dataclasses import dataclass

from mf_ckpt import Join, Split, TensorInfo
from mf_ckpt.dtypes import Array
from mf_ckpt.keymap.rows import Part
from mf_ckpt.sources.source import Slices


@dataclass(frozen=True, slots=True)
class TransposedJoin:
    """Matrices [out, in] joined along their first dimension, and the result turned to [in, all out].

    Attributes:
        sources: name patterns of the parts, in order.
        target: name pattern of the whole.
        sizes: rows of each part.
    """

    sources: tuple[str, ...]
    target: str
    sizes: tuple[int, ...]

    @property
    def targets(self) -> tuple[str, ...]:
        """The one target pattern."""
        return (self.target,)

    @property
    def dim(self) -> int:
        """The dimension of the whole along which the parts lie."""
        return 1

    def infos(self, sources: Sequence[TensorInfo]) -> list[TensorInfo]:
        """The form of the whole; raises `UserError` where a part has another number of rows."""
        return [_turned(info) for info in self._upright.infos(sources)]

    def fill(self, target: int, slices: Slices, out: Array, sources: Sequence[Part]) -> None:
        """Join the parts into the turned array; see `Row.fill`."""
        self._upright.fill(target, slices[::-1], out.T, sources)

    def inverse(self) -> "TransposedSplit":
        """The split into the same parts."""
        return TransposedSplit(self.target, self.sources, self.sizes)

    @property
    def _upright(self) -> Join:
        return Join(self.sources, self.target, self.sizes)


@dataclass(frozen=True, slots=True)
class TransposedSplit:
    """A matrix [in, all out] turned and cut into matrices [out, in].

    Attributes:
        source: name pattern of the whole.
        targets: name patterns of the parts, in order.
        sizes: rows of each part.
    """

    source: str
    targets: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        """The one source pattern."""
        return (self.source,)

    def infos(self, sources: Sequence[TensorInfo]) -> list[TensorInfo]:
        """The forms of the parts; raises `UserError` where the whole has another length."""
        return [_turned(info) for info in self._lying.infos(sources)]

    def fill(self, target: int, slices: Slices, out: Array, sources: Sequence[Part]) -> None:
        """Cut the part out of the whole into the turned array; see `Row.fill`."""
        self._lying.fill(target, slices[::-1], out.T, sources)

    def inverse(self) -> TransposedJoin:
        """The join of the same parts."""
        return TransposedJoin(self.targets, self.source, self.sizes)

    @property
    def _lying(self) -> Split:
        return Split(self.source, self.targets, self.sizes, dim=1)


def _turned(info: TensorInfo) -> TensorInfo:
    return TensorInfo(info.dtype, info.shape[::-1])
