"""A source in another element type."""

from collections.abc import Iterator

import numpy as np

from mf_ckpt.dtypes import ELEMENT_TYPES, Array, encode
from mf_ckpt.sources.source import Slices, Source, storage
from mf_ckpt.tensor_info import TensorInfo

_FLOATS = ("F64", "F32", "F16", "BF16")
"""What a cast may change and make; integers, booleans and 8-bit floats carry meaning beyond their value."""


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


def _is_cast(info: TensorInfo) -> bool:
    """Whether a tensor has float values; a type of another format than safetensors is one of quantised floats."""
    return info.dtype in _FLOATS or info.dtype not in ELEMENT_TYPES
