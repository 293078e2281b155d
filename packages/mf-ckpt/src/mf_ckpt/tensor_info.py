"""What is known of a tensor without reading it."""

import math
from dataclasses import dataclass

from mf_ckpt.dtypes import ELEMENT_TYPES


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """What is known of a tensor without reading it.

    Attributes:
        dtype: the stored element type by its name in the file, such as `F32` or `BF16`.
        shape: its dimensions; empty for a scalar.
    """

    dtype: str
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Stored size in bytes."""
        return self.count * ELEMENT_TYPES[self.dtype].storage.itemsize
