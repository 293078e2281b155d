"""The fused decoder against the graph of the same layers: logits, whatever the kinds of the layers and odd their sizes.

The graph itself is held to Hugging Face transformers by test_goldens.py.
"""

from typing import Any

import numpy as np
import pytest
from mindspore import Tensor

from mf_models.cache import ScoringStep
from mf_models.families.gemma2.config import Gemma2Config
from mf_models.families.llama import LlamaConfig
from mf_models.families.mistral import MistralConfig
from mf_models.fused_decoding import covers, fused_decoder, uncovered
from mf_models.initializers import initialize
from mf_models.layers.int8_linear import Int8Linear
from mf_models.networks import build

SIZES: dict[str, Any] = {
    "vocab_size": 23,
    "hidden_size": 20,
    "num_layers": 2,
    "num_heads": 2,
    "intermediate_size": 37,
    "seq_length": 32,
    "initializer_range": 0.3,
}
TABLES = np.array([[3, 1, 5], [2, 4, 6]], np.int32)
IDS = np.random.default_rng(0).integers(0, 23, (2, 11)).astype(np.int32)


def decode_all(decoder: Any, ids_BT: np.ndarray, first: int) -> np.ndarray:
    """Logits [B, T, V]: the first tokens of each row in one step, then one of each row at a time."""
    found = np.empty((*ids_BT.shape, 23), np.float32)
    for row, ids in enumerate(ids_BT):
        found[row, :first] = decoder(ids[:first], np.arange(first), np.full(first, row), TABLES, np.arange(first))
    for place in range(first, ids_BT.shape[1]):
        found[:, place] = decoder(ids_BT[:, place], np.full(2, place), np.arange(2), TABLES, np.arange(2))
    return found


@pytest.mark.parametrize(
    "config",
    [
        LlamaConfig(**SIZES, n_kv_heads=1, qkv_has_bias=True),
        Gemma2Config(**SIZES, n_kv_heads=1, sliding_window=4),
        MistralConfig(**SIZES, n_kv_heads=2, sliding_window=5),
    ],
    ids=["llama", "gemma2", "mistral"],
)
def test_logits_are_those_of_the_graph(config):
    model = build(config)
    initialize(model, seed=1)
    names = [parameter.name for parameter in model.get_parameters()]
    assert covers(model), uncovered(model)
    graph = ScoringStep(model, model.new_cache(7, 4))
    zeros, last = Tensor(np.zeros(2, np.int32)), Tensor(np.full(2, 10, np.int32))
    expected = graph(Tensor(IDS), zeros, last, Tensor(TABLES)).asnumpy()
    found = decode_all(fused_decoder(model, model.new_cache(7, 4)), IDS, 6)
    np.testing.assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())
    assert [parameter.name for parameter in model.get_parameters()] == names


def test_what_is_computed_beside_a_token_does_not_change_it():
    model = build(LlamaConfig(**SIZES))
    initialize(model, seed=2)
    together = decode_all(fused_decoder(model, model.new_cache(7, 4)), IDS, 7)
    alone = decode_all(fused_decoder(model, model.new_cache(7, 4)), IDS, 1)
    np.testing.assert_array_equal(together, alone)


def test_integers_are_expanded_to_what_they_stand_for():
    model = build(LlamaConfig(**SIZES))
    initialize(model, seed=3)
    for block in model.model.layers:
        block.feed_forward.w2 = Int8Linear(block.feed_forward.w2.weight.asnumpy())
    found = decode_all(fused_decoder(model, model.new_cache(7, 4)), IDS, 6)
    np.testing.assert_allclose(found, model(Tensor(IDS)).asnumpy(), atol=2e-5 * np.abs(found).max())


def test_what_is_not_covered_is_named():
    model = build(LlamaConfig(**SIZES, scaling_factor=2.0, extend_method="DYNAMIC_NTK"))
    assert uncovered(model) == "angles that depend on the length"
    model = build(LlamaConfig(**SIZES))
    model.model.layers[1].attention.wq.adapter = Int8Linear(np.zeros((20, 20), np.float32))
    assert uncovered(model) == "projections of another kind"
