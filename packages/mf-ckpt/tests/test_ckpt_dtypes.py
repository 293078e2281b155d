"""Element types against numpy's own float16 and values worked out by hand."""

import numpy as np
import pytest

from mf_ckpt.dtypes import ELEMENT_TYPES, encode, narrow_bf16, widen_bf16


def bits_of(*values: float) -> list[int]:
    return [int(bits) for bits in narrow_bf16(np.array(values, np.float32))]


def test_bf16_is_the_upper_half_of_float32_for_every_pattern():
    bits = np.arange(65536, dtype=np.uint16)
    wide = widen_bf16(bits)
    assert wide.dtype == np.float32
    assert np.array_equal(wide.view(np.uint32), bits.astype(np.uint32) * 65536)


def test_every_bf16_value_survives_widening_and_rounding():
    bits = np.arange(65536, dtype=np.uint16)
    wide = widen_bf16(bits)
    back = narrow_bf16(wide)
    assert np.array_equal(back[~np.isnan(wide)], bits[~np.isnan(wide)])
    assert np.isnan(widen_bf16(back[np.isnan(wide)])).all()


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(1.00390625, 1.0), (1.01171875, 1.015625), (1.003907, 1.0078125), (-1.00390625, -1.0), (3.4e38, np.inf)],
)
def test_rounding_to_bf16_goes_to_the_nearest_and_ties_to_even(value: float, rounded: float):
    assert widen_bf16(narrow_bf16(np.float32([value])))[0] == np.float32(rounded)


def test_a_nan_whose_payload_lies_in_the_lost_half_stays_nan():
    nan = np.array([0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
    assert np.isnan(widen_bf16(narrow_bf16(nan))).all()


def test_scalars_keep_their_shape():
    assert widen_bf16(np.array(0x3F80, np.uint16)).shape == ()
    assert narrow_bf16(np.array(1.0, np.float32)).shape == ()
    assert bits_of(1.0) == [0x3F80]


@pytest.mark.parametrize(
    ("byte", "value"),
    # Table 2 of Micikevicius et al. 2022: largest, smallest normal, largest and smallest subnormal numbers.
    [(0x7E, 448.0), (0x08, 2.0**-6), (0x07, 0.875 * 2.0**-6), (0x01, 2.0**-9), (0x00, 0.0), (0xB8, -1.0)],
)
def test_f8_e4m3_values_are_those_of_the_paper(byte: int, value: float):
    widen = ELEMENT_TYPES["F8_E4M3"].widen
    assert widen is not None
    assert widen(np.array([byte], np.uint8))[0] == value


@pytest.mark.parametrize(
    ("byte", "value"),
    [(0x7B, 57344.0), (0x04, 2.0**-14), (0x03, 0.75 * 2.0**-14), (0x01, 2.0**-16), (0x7C, np.inf), (0xBC, -1.0)],
)
def test_f8_e5m2_values_are_those_of_the_paper(byte: int, value: float):
    widen = ELEMENT_TYPES["F8_E5M2"].widen
    assert widen is not None
    assert widen(np.array([byte], np.uint8))[0] == value


def test_both_f8_types_have_their_nans():
    for name, bytes_ in (("F8_E4M3", [0x7F, 0xFF]), ("F8_E5M2", [0x7D, 0xFE])):
        widen = ELEMENT_TYPES[name].widen
        assert widen is not None
        assert np.isnan(widen(np.array(bytes_, np.uint8))).all()


def test_encode_takes_any_byte_order_and_stride():
    array = np.arange(6, dtype=">i4").reshape(2, 3).T
    name, bits = encode(array)
    assert (name, bits.dtype.str, bits.flags.c_contiguous) == ("I32", "<i4", True)
    assert bits.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_encode_keeps_bits_that_already_are_bf16():
    bits = np.array([0x7FC1, 0x8000], np.uint16)
    name, stored = encode(bits, "BF16")
    assert (name, stored.tolist()) == ("BF16", bits.tolist())


@pytest.mark.parametrize("dtype", ["BF16", "F16", "F64"])
def test_encode_converts_between_float_types(dtype: str):
    name, bits = encode(np.float32([1.5, -2.0]), dtype)
    assert (name, bits.dtype) == (dtype, ELEMENT_TYPES[dtype].storage)


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.zeros(2, np.int32), "F32"),
        (np.zeros(2, np.float32), "I32"),
        (np.zeros(2, np.float32), "F8_E4M3"),
        (np.zeros(2, np.float32), "F31"),
        (np.array(["text"]), None),
        (np.zeros(2, np.complex128), None),
    ],
)
def test_encode_refuses_what_would_change_the_meaning(array: np.ndarray, dtype: str | None):
    with pytest.raises(ValueError, match="can't store"):
        encode(array, dtype)
