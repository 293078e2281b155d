"""Weights of 8-bit integers in blocks, composed and in C++, against products in float64."""

import mindspore as ms
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from mindspore import Tensor, nn

from mf_models.kernels.int8_linear import int8_linear
from mf_models.kernels.native.library import native_library
from mf_models.kernels.native.operators import NativeInt8Linear
from mf_models.layers.int8_linear import Int8Linear, round_to_nearest, widened


@given(hnp.arrays(np.float32, (3, 37), elements=st.floats(-1e3, 1e3, width=32)))
def test_no_weight_is_further_away_than_half_a_step(weight):
    integers, scale = round_to_nearest(weight)
    assert (integers.shape, integers.dtype, scale.shape, scale.dtype) == ((3, 2, 32), np.int8, (3, 2), np.float16)
    assert not integers.reshape(3, -1)[:, 37:].any()
    step = np.repeat(scale.astype(np.float64), 32, 1)[:, :37]
    # Rounding a scale to half precision moves the largest integers by up to 2^-11 of themselves, or 2^-25 in all.
    largest = np.repeat(np.abs(np.pad(weight, ((0, 0), (0, 27)))).reshape(3, 2, 32).max(2), 32, 1)[:, :37]
    off = np.abs(weight - widened(integers, scale, 37).astype(np.float64))
    assert (off <= 0.51 * step + largest * 2.0**-10 + 127 * 2.0**-25).all()


class Composed(nn.Cell):
    """The composition as a graph."""

    def construct(self, x: Tensor, weight: Tensor, scale: Tensor) -> Tensor:
        return int8_linear(x, weight, scale)


@pytest.mark.parametrize(("rows", "columns", "tokens"), [(5, 37, (2, 3)), (33, 64, (1,)), (7, 5, (13,))])
def test_both_forms_multiply_with_the_rounded_weight(rows, columns, tokens):
    chance = np.random.default_rng(0)
    integers, scale = round_to_nearest(chance.standard_normal((rows, columns)).astype(np.float32))
    x = chance.standard_normal((*tokens, columns)).astype(np.float32)
    expected = x.astype(np.float64) @ widened(integers, scale, columns).astype(np.float64).T
    library = native_library()
    assert library is not None, "this test needs a C++ compiler"
    for cell in (Composed(), NativeInt8Linear(library)):
        found = cell(Tensor(x), Tensor(integers), Tensor(scale)).asnumpy()
        np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


def test_the_layer_adds_its_bias():
    weight = np.random.default_rng(1).standard_normal((4, 5)).astype(np.float32)
    bias = ms.Parameter(Tensor(np.arange(4, dtype=np.float32)))
    x = np.ones((2, 5), np.float32)
    expected = x @ widened(*round_to_nearest(weight), 5).T + np.arange(4)
    np.testing.assert_allclose(Int8Linear(weight, bias)(Tensor(x)).asnumpy(), expected, atol=1e-5)
