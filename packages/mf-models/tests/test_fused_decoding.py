"""The fused decoder against the graph of the same layers: logits, whatever the kinds of the layers and odd their sizes.

The graph itself is held to Hugging Face transformers by test_goldens.py.
"""

import json
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
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
from mf_models.layers.int8_linear import Int8Linear, round_to_nearest
from mf_models.networks import build
from mf_models.pretrained import load
from mf_models.registry import config_from_hf

README = Path(__file__).parents[1] / "README.md"
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
        feed = block.feed_forward
        gate = round_to_nearest(feed.w1.weight.asnumpy())
        feed.w1 = Int8Linear(replace(gate, offset_FG=-4 * gate.scale_FG))
        feed.w2 = Int8Linear(round_to_nearest(feed.w2.weight.asnumpy()))
    found = decode_all(fused_decoder(model, model.new_cache(7, 4)), IDS, 6)
    np.testing.assert_allclose(found, model(Tensor(IDS)).asnumpy(), atol=2e-5 * np.abs(found).max())


def test_what_is_not_covered_is_named():
    model = build(LlamaConfig(**SIZES, scaling_factor=2.0, extend_method="DYNAMIC_NTK"))
    assert uncovered(model) == "angles that depend on the length"
    model = build(LlamaConfig(**SIZES))
    model.model.layers[1].attention.wq.adapter = Int8Linear(round_to_nearest(np.zeros((20, 20), np.float32)))
    assert uncovered(model) == "projections of another kind"


@pytest.mark.skipif(not README.is_file(), reason="the page is not part of a distribution")
def test_the_page_lists_what_is_covered_and_why_the_rest_is_not(data: Path):
    listed = re.findall(r"^\| (.+) \| (?:the fused decoder|the graph: (.+)) \|$", README.read_text(), re.MULTILINE)
    found = defaultdict(set)
    for file in data.glob("*/config.json"):
        described = json.loads(file.read_text())
        config = config_from_hf(described, str(file))
        if config.num_labels is None:
            found[uncovered(build(config))].add(described["model_type"])
    assert found == {why: set(re.findall("`(.+?)`", names)) for names, why in listed}


COVERED = (
    "llama_gqa", "llama_tied", "llama3_rope", "qwen2", "qwen3", "mistral_swa", "phi3", "glm", "glm4", "gemma2"
)  # fmt: skip


@pytest.mark.parametrize("name", COVERED)
def test_greedy_tokens_are_those_of_hugging_face(name: str, data: Path):
    path = data / name
    golden, (_, model) = np.load(path / "golden.npz"), load(path)
    assert covers(model), uncovered(model)
    decoder, table = fused_decoder(model, model.new_cache(9, 8)), np.array([[8, 1, 7, 2, 6, 3, 5, 4]], np.int32)
    for row in (0, 1):
        ids = list(golden[f"prompt{row}"])
        first = len(ids)
        for place in range(first + 23):
            logits_WV = decoder(*(np.array([each], np.int32) for each in (ids[place], place, 0)), table, np.arange(1))
            if place >= first - 1:
                ids.append(int(logits_WV[0].argmax()))
        np.testing.assert_array_equal(ids[first:], golden[f"greedy{row}"])
