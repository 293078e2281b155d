"""Several sources as one: tensors that lie in different files, or that replace others of the same name."""

from typing import Self

from mf_ckpt.dtypes import Array
from mf_ckpt.sources.source import Slices, Source, TableSource
from mf_ckpt.tensor_info import TensorInfo


class CombinedSource(TableSource[Source]):
    """A source whose tensors each come from one of several sources; its table says from which."""

    @classmethod
    def overlay(cls, lower: Source, upper: Source, origin: str) -> Self:
        """All tensors of two sources.

        Args:
            lower: gives what `upper` lacks.
            upper: gives what both have.
            origin: how messages call the whole.
        """
        return cls({**dict.fromkeys(lower, lower), **dict.fromkeys(upper, upper)}, origin)

    def info(self, name: str) -> TensorInfo:
        """Element type and shape, as the source that holds the tensor says."""
        return self._entry(name).info(name)

    def read(self, name: str, slices: Slices = ()) -> Array:
        """The values, read by the source that holds the tensor; see `Source.read`."""
        return self._entry(name).read(name, slices)

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """The stored bits, read by the source that holds the tensor; see `Source.raw`."""
        return self._entry(name).raw(name, slices)

    def raw_into(self, name: str, slices: Slices, out: Array) -> None:
        """Copy stored bits into an array; see `Source.raw_into`."""
        self._entry(name).raw_into(name, slices, out)
