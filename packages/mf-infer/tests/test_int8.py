from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from mindspore import nn

import mf_models
from mf_infer.int8 import Int8Linear, quantize, round_to_nearest, weight_bytes
from mf_infer.llm import ON_CPU
from mf_models.device import prepare
from mf_models.layers.linear import Linear

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module", autouse=True)
def graphs():
    """Cells are compiled, as `LLM` has them."""
    prepare(ON_CPU)


@given(hnp.arrays(np.float32, (3, 5), elements=st.floats(-1e3, 1e3, width=32)))
def test_integers_are_the_nearest_and_use_the_whole_range(weight):
    integers, scale = round_to_nearest(weight)
    assert integers.dtype == np.int8
    assert np.abs(integers.astype(int)).max(initial=0) <= 127
    for row, found, step in zip(weight, integers, scale, strict=True):
        if np.abs(row).max() > 1e-30:
            assert np.abs(found.astype(int)).max() == 127
        # Half a step, and what float32 rounds.
        assert np.abs(row - found * step).max() <= step * 0.5 + np.abs(row).max() * 1e-6


def test_a_row_of_zeros_stays_zero():
    integers, scale = round_to_nearest(np.zeros((2, 3), np.float32))
    assert not integers.any()
    assert scale.tolist() == [1, 1]


def test_the_layer_multiplies_with_the_rounded_weight():
    chance = np.random.default_rng(0)
    linear = Linear(5, 4, bias=True)
    linear.weight.set_data(ms.Tensor(chance.normal(size=(4, 5)).astype(np.float32)))
    linear.bias.set_data(ms.Tensor(chance.normal(size=4).astype(np.float32)))
    x = chance.normal(size=(2, 3, 5)).astype(np.float32)
    integers, scale = round_to_nearest(linear.weight.asnumpy())
    rounded = integers.astype(np.float64) * scale[:, None]
    found = Int8Linear(linear)(ms.Tensor(x)).asnumpy()
    np.testing.assert_allclose(found, x @ rounded.T + linear.bias.asnumpy(), atol=1e-5)


@pytest.fixture(scope="module")
def model() -> nn.Cell:
    return mf_models.load(DATA / "tiny_chat")[1]


def perplexity(model, ids):
    logits = model(ms.Tensor(ids.astype(np.int32))).asnumpy()[:, :-1].astype(np.float64)
    logprobs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return np.exp(-np.take_along_axis(logprobs, ids[:, 1:, None], -1).mean())


def test_a_model_takes_less_memory_and_stays_nearly_as_good(model):
    golden = np.load(DATA / "tiny_chat" / "golden.npz")
    before, bytes_before = perplexity(model, golden["input_ids"]), weight_bytes(model)
    quantize(model)
    blocks = [cell for _, cell in model.model.layers.cells_and_names() if isinstance(cell, Linear | Int8Linear)]
    assert blocks
    assert all(isinstance(cell, Int8Linear) for cell in blocks)
    matrices = sum(cell.weight.size for cell in blocks)
    scales = sum(cell.scale.size for cell in blocks)
    assert weight_bytes(model) == bytes_before - 3 * matrices + 4 * scales
    assert perplexity(model, golden["input_ids"]) == pytest.approx(before, rel=0.02)


def test_named_layers_stay_as_they_are():
    cell = nn.CellList([nn.SequentialCell([Linear(2, 2)]), nn.SequentialCell([Linear(2, 2)])])
    quantize(cell, keep=("1",))
    assert isinstance(cell[0][0], Int8Linear)
    assert isinstance(cell[1][0], Linear)
