from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from mindspore import nn

import mf_models
from mf_infer.llm import ON_CPU
from mf_infer.loading.int8 import keep_integers, quantize, quantize_with_head
from mf_models.device import prepare
from mf_models.layers.int8_linear import Int8Linear, widened
from mf_models.layers.linear import Linear

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module", autouse=True)
def graphs():
    """Cells are compiled, as `LLM` has them."""
    prepare(ON_CPU)


@pytest.fixture(scope="module")
def model() -> nn.Cell:
    return mf_models.load(DATA / "tiny_chat")[1]


def weight_bytes(model):
    return sum(parameter.nbytes for parameter in model.get_parameters())


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
    floats = sum(cell.weight.shape[0] * cell.in_features for cell in blocks)
    integers, scales = sum(cell.weight.size for cell in blocks), sum(cell.scale.size for cell in blocks)
    assert weight_bytes(model) == bytes_before - 4 * floats + integers + 2 * scales
    assert perplexity(model, golden["input_ids"]) == pytest.approx(before, rel=0.02)


def test_named_layers_stay_as_they_are():
    cell = nn.CellList([nn.SequentialCell([Linear(2, 2)]), nn.SequentialCell([Linear(2, 2)])])
    quantize(cell, keep=("1",))
    assert isinstance(cell[0][0], Int8Linear)
    assert isinstance(cell[1][0], Linear)


@pytest.mark.parametrize("largest", [127, 8])
def test_weights_that_are_integers_already_keep_their_values(largest):
    chance = np.random.default_rng(3)
    scale = chance.uniform(1e-3, 1e-2, (6, 2, 1)).astype(np.float16).astype(np.float32)
    integers = chance.integers(-largest, largest, (6, 2, 32))
    integers[:, :, 0] = largest
    weight = (integers * scale).astype(np.float32).reshape(6, 64)
    cell = nn.CellDict({"kept": Linear(64, 6), "as_it_is": Linear(64, 6)})
    cell["kept"].weight.set_data(ms.Tensor(weight))
    cell["as_it_is"].weight.set_data(ms.Tensor(weight + np.float32(1e-6)))
    keep_integers(cell)
    kept = cell["kept"]
    assert isinstance(kept, Int8Linear)
    np.testing.assert_array_equal(widened(kept.weight.asnumpy(), kept.scale.asnumpy(), 64), weight)
    assert isinstance(cell["as_it_is"], Linear)


def test_a_head_that_is_the_embedding_gets_integers_of_its_own(model):
    quantize_with_head(model)
    assert isinstance(model.lm_head, Int8Linear)
    assert model.model.tok_embeddings.embedding_weight.dtype == ms.float32
