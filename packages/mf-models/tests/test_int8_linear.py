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
from mf_models.layers.int8_linear import Int8Linear, IntegerBlocks, round_to_nearest


@given(hnp.arrays(np.float32, (3, 37), elements=st.floats(-1e3, 1e3, width=32)))
def test_no_weight_is_further_away_than_half_a_step(weight):
    blocks = round_to_nearest(weight)
    integers, scale = blocks.integers_FGI, blocks.scale_FG
    assert (integers.shape, integers.dtype, scale.shape, scale.dtype) == ((3, 2, 32), np.int8, (3, 2), np.float16)
    assert blocks.offset_FG is None
    assert not integers.reshape(3, -1)[:, 37:].any()
    step = np.repeat(scale.astype(np.float64), 32, 1)[:, :37]
    # Rounding a scale to half precision moves the largest integers by up to 2^-11 of themselves, or 2^-25 in all.
    largest = np.repeat(np.abs(np.pad(weight, ((0, 0), (0, 27)))).reshape(3, 2, 32).max(2), 32, 1)[:, :37]
    off = np.abs(weight - blocks.widened().astype(np.float64))
    assert (off <= 0.51 * step + largest * 2.0**-10 + 127 * 2.0**-25).all()


class Composed(nn.Cell):
    """The composition as a graph."""

    def construct(self, x: Tensor, weight: Tensor, scale: Tensor, offset: Tensor | None = None) -> Tensor:
        return int8_linear(x, weight, scale, offset)


SIZES = [(5, 37, (2, 3)), (33, 64, (1,)), (7, 5, (13,)), (45, 97, (18,)), (17, 32, (8,))]
"""Rows, columns and tokens: odd ones, and as many tokens as each way through the operator takes."""


def random_blocks(chance, rows, columns, has_offsets):
    """Blocks with integers, scales and offsets of both signs; behind the columns they are anything."""
    count = -(-columns // 32)
    scale, offset = chance.standard_normal((2, rows, count)).astype(np.float16)
    integers = chance.integers(-127, 128, (rows, count, 32), np.int8)
    return IntegerBlocks(
        integers_FGI=integers, scale_FG=scale, offset_FG=offset * 50 if has_offsets else None, columns=columns
    )


def inputs(blocks):
    arrays = (blocks.integers_FGI, blocks.scale_FG, blocks.offset_FG)
    return [Tensor(array) for array in arrays if array is not None]


def product_in_float64(x, blocks):
    weight = blocks.integers_FGI * blocks.scale_FG.astype(np.float64)[..., None]
    if blocks.offset_FG is not None:
        weight += blocks.offset_FG.astype(np.float64)[..., None]
    return x.astype(np.float64) @ weight.reshape(len(weight), -1)[:, : blocks.columns].T


@pytest.fixture(scope="module")
def native():
    library = native_library()
    assert library is not None, "this test needs a C++ compiler"
    return NativeInt8Linear(library)


@pytest.mark.parametrize("has_offsets", [False, True])
@pytest.mark.parametrize(("rows", "columns", "tokens"), SIZES)
def test_both_forms_multiply_with_what_the_blocks_stand_for(rows, columns, tokens, has_offsets, native):
    chance = np.random.default_rng(0)
    blocks = random_blocks(chance, rows, columns, has_offsets)
    x = chance.standard_normal((*tokens, columns)).astype(np.float32)
    expected = product_in_float64(x, blocks)
    for cell in (Composed(), native):
        found = cell(Tensor(x), *inputs(blocks)).asnumpy()
        np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("has_offsets", [False, True])
def test_a_token_has_the_same_bits_whatever_is_beside_it(has_offsets, native):
    chance = np.random.default_rng(2)
    blocks = random_blocks(chance, 37, 70, has_offsets)
    x = chance.standard_normal((19, 70)).astype(np.float32)
    together = native(Tensor(x), *inputs(blocks)).asnumpy()
    for count in (1, 2, 3, 5, 8):
        some = native(Tensor(x[-count:]), *inputs(blocks)).asnumpy()
        np.testing.assert_array_equal(some, together[-count:])


@pytest.mark.parametrize("has_offsets", [False, True])
def test_the_layer_adds_its_bias(has_offsets):
    blocks = random_blocks(np.random.default_rng(1), 4, 5, has_offsets)
    bias = ms.Parameter(Tensor(np.arange(4, dtype=np.float32)))
    x = np.ones((2, 5), np.float32)
    expected = product_in_float64(x, blocks) + np.arange(4)
    np.testing.assert_allclose(blocks.widened(), product_in_float64(np.eye(5), blocks).T, rtol=1e-6)
    found = Int8Linear(blocks, bias)(Tensor(x)).asnumpy()
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
