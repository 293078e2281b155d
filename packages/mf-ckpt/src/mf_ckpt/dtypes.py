"""The element types of safetensors files, and how each becomes a numpy array.

numpy has no bfloat16 and no 8-bit floats: their bits are held in unsigned integers of the same width (the storage
type) and widened to float32, which holds every one of their values exactly. Types narrower than a byte and the rare
8-bit variants are not known here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import name_values

Array = NDArray[np.generic]
"""A numpy array of any element type."""


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type.

    Attributes:
        name: its name in a file's header, such as `BF16`.
        storage: the little-endian numpy type that holds its bits.
        widen: from bits to float32 values; None where the storage type already is the type itself.
    """

    name: str
    storage: np.dtype[np.generic]
    widen: Callable[[Array], Array] | None = None


def widen_bf16(bits: Array) -> Array:
    """bfloat16 bits as float32 values of the same shape: the upper half of a float32, so nothing is lost.

    Args:
        bits: uint16, any shape.
    """
    wide = bits.astype(np.uint32)
    wide <<= 16
    return wide.view(np.float32)


def narrow_bf16(values: Array) -> Array:
    """The bits of the nearest bfloat16 values, ties to even; NaN stays NaN, overflow becomes infinity.

    Args:
        values: any float type and shape; float64 passes through float32 first.

    Returns:
        uint16 of the same shape.
    """
    wide = np.array(values, np.float32, order="C").view(np.uint32)
    nan = np.isnan(values)
    # Half of the last kept bit, less one where that bit is 0: a tie then goes to the even neighbour.
    rounded = (wide + (0x7FFF + ((wide >> 16) & 1)).astype(np.uint32)) >> 16
    return np.asarray(np.where(nan, (wide >> 16) | 0x40, rounded), np.uint16)


def _widen_f8_e5m2(bits: Array) -> Array:
    # E5M2 is the upper byte of a float16.
    wide = bits.astype(np.uint16)
    wide <<= 8
    return wide.view(np.float16).astype(np.float32)


def _f8_e4m3_values() -> Array:
    """The float32 values of all 256 bytes. Source: Micikevicius et al. 2022, FP8 Formats for Deep Learning, table 1."""
    byte = np.arange(256)
    exponent, fraction = (byte >> 3) & 15, byte & 7
    size = np.where(exponent == 0, fraction * 2.0**-9, (1 + fraction / 8) * 2.0 ** (exponent - 7))
    size[(exponent == 15) & (fraction == 7)] = np.nan
    return np.where(byte < 128, size, -size).astype(np.float32)


_F8_E4M3 = _f8_e4m3_values()


def _widen_f8_e4m3(bits: Array) -> Array:
    return np.asarray(_F8_E4M3[bits])


ELEMENT_TYPES = {
    kind.name: kind
    for kind in (
        ElementType("F64", np.dtype("<f8")),
        ElementType("F32", np.dtype("<f4")),
        ElementType("F16", np.dtype("<f2")),
        ElementType("BF16", np.dtype("<u2"), widen_bf16),
        ElementType("F8_E4M3", np.dtype("u1"), _widen_f8_e4m3),
        ElementType("F8_E5M2", np.dtype("u1"), _widen_f8_e5m2),
        ElementType("I64", np.dtype("<i8")),
        ElementType("I32", np.dtype("<i4")),
        ElementType("I16", np.dtype("<i2")),
        ElementType("I8", np.dtype("i1")),
        ElementType("U64", np.dtype("<u8")),
        ElementType("U32", np.dtype("<u4")),
        ElementType("U16", np.dtype("<u2")),
        ElementType("U8", np.dtype("u1")),
        ElementType("BOOL", np.dtype("?")),
        ElementType("C64", np.dtype("<c8")),
    )
}
"""Every element type by its name in a header."""

_OF_NUMPY = {kind.storage: name for name, kind in ELEMENT_TYPES.items() if kind.widen is None}


def encode(array: Array, dtype: str | None = None) -> tuple[str, Array]:
    """An array as it is stored.

    Args:
        array: values of any shape; or, where `dtype` is BF16 or an 8-bit float, its bits as `Reader.raw` gives them.
        dtype: the element type to store; that of the array where None. Float values are rounded to the nearest.

    Returns:
        The element type's name, and the bits as a C-contiguous, little-endian array of the same shape.

    Raises:
        ValueError: the array's type can't be stored, or not as `dtype`.
    """
    own = array.dtype.newbyteorder("<")
    name = _OF_NUMPY.get(own) if dtype is None else dtype
    if name is None or name not in ELEMENT_TYPES:
        raise ValueError(f"can't store {dtype or array.dtype}; allowed: {name_values(ELEMENT_TYPES)}")
    storage = ELEMENT_TYPES[name].storage
    if own == storage:
        return name, np.asarray(array, storage, order="C")
    if own.kind == "f" and name == "BF16":
        return name, narrow_bf16(array)
    if own.kind == "f" and storage.kind == "f":
        return name, np.asarray(array, storage, order="C")
    raise ValueError(f"can't store an array of {array.dtype} as {name}")
