"""Tensors that already lie in memory, as a source."""

from collections.abc import Mapping

from mf_ckpt.dtypes import Array, encode
from mf_ckpt.sources.source import Slices, TableSource, bounded, part
from mf_ckpt.tensor_info import TensorInfo


class ArraySource(TableSource[tuple[str, Array]]):
    """Arrays by name.

    Example:
        ArraySource({"norm": np.ones(8, np.float32)}, {"norm": "BF16"})
    """

    def __init__(self, arrays: Mapping[str, Array], dtypes: Mapping[str, str] | None = None):
        """Takes the arrays.

        Args:
            arrays: values of any shape; for BF16 and 8-bit floats also the bits that `raw` gives.
            dtypes: the element types to present them in; that of the array for a name left out.

        Raises:
            ValueError: an array can't be stored as its type.
        """
        asked = dtypes or {}
        super().__init__({name: encode(array, asked.get(name)) for name, array in arrays.items()}, "arrays")

    def info(self, name: str) -> TensorInfo:
        """Element type and shape; see `Source.info`."""
        dtype, bits = self._entry(name)
        return TensorInfo(dtype, bits.shape)

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """A view of the bits; see `Source.raw`."""
        _, bits = self._entry(name)
        return part(bits, bounded(name, slices, bits.shape))
