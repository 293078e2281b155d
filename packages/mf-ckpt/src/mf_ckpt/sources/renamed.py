"""Some tensors of a source, under other names."""

from collections.abc import Iterable, Mapping

from mf_ckpt.dtypes import Array
from mf_ckpt.sources.source import Slices, Source, TableSource
from mf_ckpt.tensor_info import TensorInfo


class RenamedSource(TableSource[str]):
    """Some tensors of a source, under other names."""

    def __init__(self, source: Source, names: Mapping[str, str]):
        """Takes the source, and new name to the source's name; tensors that are not named are left out."""
        super().__init__(names, "renamed checkpoint")
        self._source = source

    @classmethod
    def subset(cls, source: Source, names: Iterable[str]) -> "RenamedSource":
        """Some tensors of a source, under their own names."""
        return cls(source, {name: name for name in names})

    def info(self, name: str) -> TensorInfo:
        """Type and shape; see `Source.info`."""
        return self._source.info(self._entry(name))

    def read(self, name: str, slices: Slices = ()) -> Array:
        """The values; see `Source.read`."""
        return self._source.read(self._entry(name), slices)

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """The stored bits; see `Source.raw`."""
        return self._source.raw(self._entry(name), slices)

    def raw_into(self, name: str, slices: Slices, out: Array) -> None:
        """Copy stored bits; see `Source.raw_into`."""
        self._source.raw_into(self._entry(name), slices, out)
