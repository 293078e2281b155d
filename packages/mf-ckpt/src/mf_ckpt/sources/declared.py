"""Tensors of which only type and shape are known, for what asks for no more."""

from mf_ckpt.dtypes import Array
from mf_ckpt.sources.source import Slices, TableSource
from mf_ckpt.tensor_info import TensorInfo


class DeclaredSource(TableSource[TensorInfo]):
    """Tensors by name, without values.

    Example:
        DeclaredSource({"norm": TensorInfo("F32", (8,))}, "model")
    """

    def info(self, name: str) -> TensorInfo:
        """Element type and shape; see `Source.info`."""
        return self._entry(name)

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """Raises `ValueError`: there are no values."""
        raise ValueError(f"tensor {name!r} is declared only and has no values")
