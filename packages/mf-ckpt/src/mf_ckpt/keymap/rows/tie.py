"""Rows for one tensor that another program stores several times: an embedding that is the output head too."""

from collections.abc import Sequence
from dataclasses import dataclass

from mf_ckpt.dtypes import Array
from mf_ckpt.keymap.rows.row import Part, same_form
from mf_ckpt.sources.source import Slices
from mf_ckpt.tensor_info import TensorInfo
from mf_config.problems import UserError


@dataclass(frozen=True, slots=True)
class Tie:
    """One tensor copied under several names.

    Attributes:
        source: its name pattern.
        targets: name patterns of the copies.
    """

    source: str
    targets: tuple[str, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        """The one source pattern."""
        return (self.source,)

    def infos(self, sources: Sequence[TensorInfo]) -> list[TensorInfo]:
        """The same type and shape for every copy."""
        return list(sources) * len(self.targets)

    def fill(self, target: int, slices: Slices, out: Array, sources: Sequence[Part]) -> None:
        """Copy; see `Row.fill`."""
        sources[0].read_into(slices, out)

    def inverse(self) -> "Untie":
        """The row that keeps one of the copies."""
        return Untie(self.targets, self.source)


@dataclass(frozen=True, slots=True)
class Untie:
    """Several equal tensors as one; copies that differ are refused, for one of them would be lost.

    Attributes:
        sources: name patterns of the copies.
        target: name pattern of the one.
    """

    sources: tuple[str, ...]
    target: str

    @property
    def targets(self) -> tuple[str, ...]:
        """The one target pattern."""
        return (self.target,)

    def infos(self, sources: Sequence[TensorInfo]) -> list[TensorInfo]:
        """The same type and shape; raises `UserError` where the copies differ in it."""
        return [same_form(self.target, sources)]

    def fill(self, target: int, slices: Slices, out: Array, sources: Sequence[Part]) -> None:
        """Copy the first and compare the others, bit by bit; raises `UserError` where they differ."""
        first, *copies = sources
        first.read_into(slices, out)
        for copy in copies:
            if copy.load(slices).tobytes() != out.tobytes():
                raise UserError(
                    f"tensor {copy.name!r} differs from {first.name!r}. Allowed: equal copies of a tied tensor."
                )

    def inverse(self) -> Tie:
        """The row that copies the one again."""
        return Tie(self.target, self.sources)
