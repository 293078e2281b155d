"""Sources made from other sources: under other names and in other forms, in another type, or only some tensors."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from mf_ckpt.dtypes import ELEMENT_TYPES, Array, encode
from mf_ckpt.headers import TensorInfo
from mf_ckpt.keymap import KeyMap, Step
from mf_ckpt.rows.row import Part
from mf_ckpt.source import Slices, Source, TableSource, bounded, extents, storage

_FLOATS = ("F64", "F32", "F16", "BF16")
"""What a cast may change and make; integers, booleans and 8-bit floats carry meaning beyond their value."""


class MappedSource(TableSource[tuple[Step, int]]):
    """The tensors of a source as a key map translates them; each part is made when it is asked for."""

    def __init__(self, source: Source, keys: KeyMap):
        """Takes the source and the table.

        Raises:
            UserError: names that no row takes, all of them in one message; or parts that are missing beside others.
        """
        steps = keys.steps(source)
        table = {name: (step, number) for step in steps for number, name in enumerate(step.targets)}
        super().__init__(table, "translated checkpoint")
        self._source = source
        self._infos: dict[str, TensorInfo] = {}

    def info(self, name: str) -> TensorInfo:
        """Type and shape of a target; raises `UserError` where the source doesn't have the form that its row needs."""
        if name not in self._infos:
            step, _ = self._entry(name)
            infos = step.row.infos([self._source.info(source) for source in step.sources])
            self._infos.update(zip(step.targets, infos, strict=True))
        return self._infos[name]

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """The stored bits of a target or a part of it; see `Source.raw`."""
        info = self.info(name)
        full = bounded(name, slices, info.shape)
        out: Array = np.empty(extents(full), storage(info))
        self.raw_into(name, full, out)
        return out

    def raw_into(self, name: str, slices: Slices, out: Array) -> None:
        """Make a part of a target in place; see `Source.raw_into`."""
        step, number = self._entry(name)
        parts = [Part(self._source, source) for source in step.sources]
        step.row.fill(number, bounded(name, slices, self.info(name).shape), out, parts)


class CastSource(Source):
    """The tensors of a source with all floats in one type; others stay as they are."""

    def __init__(self, source: Source, dtype: str):
        """Takes the source and the type.

        Args:
            source: the tensors.
            dtype: F64, F32, F16 or BF16. Values are rounded to the nearest, ties to even.

        Raises:
            ValueError: another type.
        """
        if dtype not in _FLOATS:
            raise ValueError(f"can't cast to {dtype}. Allowed: {', '.join(_FLOATS)}.")
        self._source = source
        self._dtype = dtype

    def __iter__(self) -> Iterator[str]:
        """The names of the source."""
        return iter(self._source)

    def __len__(self) -> int:
        """Number of tensors."""
        return len(self._source)

    def __contains__(self, name: object) -> bool:
        """Whether there is a tensor of that name."""
        return name in self._source

    def info(self, name: str) -> TensorInfo:
        """The shape, and the type that the values are cast to; see `Source.info`."""
        info = self._source.info(name)
        return TensorInfo(self._dtype, info.shape) if _is_cast(info) else info

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """The bits of the cast values; see `Source.raw`."""
        info = self._source.info(name)
        if not _is_cast(info) or info.dtype == self._dtype:
            return self._source.raw(name, slices)
        return encode(self._source.read(name, slices), self._dtype)[1]

    def raw_into(self, name: str, slices: Slices, out: Array) -> None:
        """Copy the bits of the cast values; see `Source.raw_into`."""
        info = self._source.info(name)
        if not _is_cast(info) or info.dtype == self._dtype:
            self._source.raw_into(name, slices, out)
            return
        if info.dtype not in ELEMENT_TYPES:
            out[...] = self.raw(name, slices)
            return
        bits = np.empty(out.shape, storage(info))
        self._source.raw_into(name, slices, bits)
        widen = ELEMENT_TYPES[info.dtype].widen
        out[...] = encode(bits if widen is None else widen(bits), self._dtype)[1]


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

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """The stored bits; see `Source.raw`."""
        return self._source.raw(self._entry(name), slices)

    def raw_into(self, name: str, slices: Slices, out: Array) -> None:
        """Copy stored bits; see `Source.raw_into`."""
        self._source.raw_into(self._entry(name), slices, out)


def _is_cast(info: TensorInfo) -> bool:
    """Whether a tensor has float values; a type of another format than safetensors is one of quantised floats."""
    return info.dtype in _FLOATS or info.dtype not in ELEMENT_TYPES
