"""The row for a tensor whose dimensions stand in another order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mf_ckpt.dtypes import Array
from mf_ckpt.keymap.rows.row import Part
from mf_ckpt.sources.source import Slices
from mf_ckpt.tensor_info import TensorInfo
from mf_config.problems import UserError


@dataclass(frozen=True, slots=True)
class Transpose:
    """One tensor with its dimensions in another order; a matrix [in, out] becomes [out, in].

    Attributes:
        source: its name pattern.
        target: its other name pattern.
        axes: target dimension d is source dimension `axes[d]`.
    """

    source: str
    target: str
    axes: tuple[int, ...] = (1, 0)

    def __post_init__(self) -> None:
        """Raises `ValueError` where the axes don't name each dimension once."""
        if sorted(self.axes) != list(range(len(self.axes))):
            raise ValueError(f"axes {self.axes} don't name each dimension once")

    @property
    def sources(self) -> tuple[str, ...]:
        """The one source pattern."""
        return (self.source,)

    @property
    def targets(self) -> tuple[str, ...]:
        """The one target pattern."""
        return (self.target,)

    def infos(self, sources: Sequence[TensorInfo]) -> list[TensorInfo]:
        """The shape in the other order; raises `UserError` where there are more or fewer dimensions."""
        (info,) = sources
        if len(info.shape) != len(self.axes):
            raise UserError(f"{self.source}: has shape {list(info.shape)}. Allowed: {len(self.axes)} dimensions.")
        return [TensorInfo(info.dtype, tuple(info.shape[axis] for axis in self.axes))]

    def fill(self, target: int, slices: Slices, out: Array, sources: Sequence[Part]) -> None:
        """Read the part as it lies in the source and turn it; see `Row.fill`."""
        order = [int(axis) for axis in np.argsort(self.axes)]
        out[...] = sources[0].load(tuple(slices[axis] for axis in order)).transpose(self.axes)

    def inverse(self) -> "Transpose":
        """The order that leads back."""
        return Transpose(self.target, self.source, tuple(int(axis) for axis in np.argsort(self.axes)))
