"""The row for a tensor that only has another name."""

from collections.abc import Sequence
from dataclasses import dataclass

from mf_ckpt.dtypes import Array
from mf_ckpt.keymap.rows.row import Part
from mf_ckpt.sources.source import Slices
from mf_ckpt.tensor_info import TensorInfo


@dataclass(frozen=True, slots=True)
class Rename:
    """One tensor under another name.

    Attributes:
        source: its name pattern.
        target: its other name pattern.
    """

    source: str
    target: str

    @property
    def sources(self) -> tuple[str, ...]:
        """The one source pattern."""
        return (self.source,)

    @property
    def targets(self) -> tuple[str, ...]:
        """The one target pattern."""
        return (self.target,)

    def infos(self, sources: Sequence[TensorInfo]) -> list[TensorInfo]:
        """The same type and shape."""
        return list(sources)

    def fill(self, target: int, slices: Slices, out: Array, sources: Sequence[Part]) -> None:
        """Copy; see `Row.fill`."""
        sources[target].read_into(slices, out)

    def inverse(self) -> "Rename":
        """The same with the names exchanged."""
        return Rename(self.target, self.source)
