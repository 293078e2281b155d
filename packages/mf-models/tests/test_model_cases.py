"""Faults that users of other programs met, each with the values that a sound program gives.

The files come from Hugging Face transformers 5.24 and NumPy.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor, nn
from safetensors.numpy import load_file, save_file

import mf_ckpt
import mf_models
from mf_ckpt import Join
from mf_ckpt.keymap.rows import apply
from mf_config.layout import Mesh, Shard, TensorLayout, scatter
from mf_config.problems import UserError
from mf_models.checkpoint_family import checkpoint_family, stored_placements
from mf_models.layers.frequencies import Rotary
from mf_models.pretrained import read_config
from mf_models.registry import config_from_hf
from mf_models.weights import to_checkpoint_names

LOGITS_ATOL = 2e-4


def int32(values: Any) -> Tensor:
    return Tensor(np.asarray(values, np.int32))


def check_logits(model: nn.Cell, golden: Any, expected: str = "logits") -> None:
    np.testing.assert_allclose(model(int32(golden["input_ids"])).asnumpy(), golden[expected], 0, LOGITS_ATOL)


def test_a_copy_of_the_embedding_as_head_is_taken_and_written_once(data: Path) -> None:
    config, model = mf_models.load(data / "llama_tied_with_copy")
    assert config == read_config(data / "llama_tied")
    written, original = dict(to_checkpoint_names(config, model)), mf_ckpt.open(data / "llama_tied")
    assert set(written) == set(original)
    assert all(np.array_equal(written[name], original[name]) for name in original)


def test_a_head_that_differs_from_the_embedding_is_refused(data: Path, tmp_path: Path) -> None:
    shutil.copytree(data / "llama_tied_with_copy", tmp_path / "model")
    tensors = load_file(tmp_path / "model" / "model.safetensors")
    tensors["lm_head.weight"][0, 0] += 1
    save_file(tensors, tmp_path / "model" / "model.safetensors")
    with pytest.raises(UserError, match=r"lm_head\.weight"):
        mf_models.load(tmp_path / "model")


def test_a_head_that_is_missing_is_not_made_up(data: Path) -> None:
    with pytest.raises(UserError, match=r"lm_head\.weight"):
        mf_models.load(data / "llama_tied_untied_config")


def test_a_vocabulary_wider_than_the_tokenizer_keeps_its_rows(data: Path) -> None:
    config, model = mf_models.load(data / "tiny_chat")
    check_logits(model, np.load(data / "tiny_chat" / "golden.npz"))
    written = dict(to_checkpoint_names(config, model))
    assert written["model.embed_tokens.weight"].shape == written["lm_head.weight"].shape == (960, 48)
    # Token 905 is none of the tokenizer's 900, and has a row of its own all the same.
    assert np.isfinite(model(int32([[4, 905, 959]])).asnumpy()).all()


@pytest.mark.parametrize(("groups", "whole"), [(1, "cat"), (2, "grouped")])
def test_query_key_and_value_are_fused_and_cut_in_blocks_or_groups(groups: int, whole: str, data: Path) -> None:
    arrays = np.load(data / "fused_qkv" / "qkv.npz")
    parts = [arrays[name] for name in ("q", "k", "v")]
    row = Join(("q", "k", "v"), "qkv", (12, 6, 6), groups=groups)
    (fused,) = apply(row, parts)
    np.testing.assert_array_equal(fused, arrays[whole])
    for found, part in zip(apply(row.inverse(), [fused]), parts, strict=True):
        np.testing.assert_array_equal(found, part)
    # A key head of 3 rows and the 2 query heads that read it stay together.
    placements = stored_placements(row, [(Shard(0, "tp", unit=unit),) for unit in (6, 3, 3)])
    layout = TensorLayout(fused.shape, placements)
    for rank in range(2):
        np.testing.assert_array_equal(scatter(fused, layout, Mesh.of(tp=2), rank), arrays[f"{whole}_tp2_{rank}"])


@pytest.mark.parametrize("name", ["phi3", "glm4"])
def test_each_part_of_gate_and_up_is_cut_by_itself(name: str, data: Path) -> None:
    stored = mf_ckpt.open(data / name)
    family = checkpoint_family(stored.config or {})
    assert family is not None
    mesh = Mesh.of(tp=2)
    layout = mf_ckpt.place(stored.weights, stored.optimizer, mesh, family.rules, ties=family.ties)
    tensor = "model.layers.0.mlp.gate_up_proj.weight"
    gate, up = np.split(stored[tensor], 2)
    for rank in range(2):
        expected = np.concatenate([np.split(part, 2)[rank] for part in (gate, up)])
        np.testing.assert_array_equal(scatter(stored[tensor], layout.tensors[tensor], mesh, rank), expected)


def test_three_bands_of_frequencies_are_scaled_as_published(data: Path) -> None:
    config: Any = read_config(data / "llama3_rope")
    expected = json.loads((data / "llama3_rope_spellings" / "expected.json").read_text())
    rotary = Rotary.of(config, config.head_dim)
    np.testing.assert_allclose(rotary.inverse_frequencies, expected["inv_freq"], 1e-6)
    ratios = np.array(expected["inv_freq"]) / expected["unscaled"]
    assert ratios[0] == 1 and np.isclose(ratios[-1], 1 / 8)


@pytest.mark.parametrize("spelling", ["config_type_key", "config_rope_parameters"])
def test_each_spelling_of_scaled_positions_means_the_model_of_the_golden_logits(spelling: str, data: Path) -> None:
    written = json.loads((data / "llama3_rope_spellings" / f"{spelling}.json").read_text())
    assert config_from_hf(written, spelling) == read_config(data / "llama3_rope")


@pytest.mark.parametrize("window", [pytest.param(6, marks=pytest.mark.slow), 4, None])
def test_windows_of_other_widths_see_other_tokens(window: int | None, data: Path, tmp_path: Path) -> None:
    golden = np.load(data / "mistral_windows" / "logits.npz")
    shutil.copytree(data / "mistral_swa", tmp_path / "model")
    config = json.loads((data / "mistral_windows" / "config_full.json").read_text())
    (tmp_path / "model" / "config.json").write_text(json.dumps(config | {"sliding_window": window}))
    _, model = mf_models.load(tmp_path / "model")
    name = "full" if window is None else f"window{window}"
    check_logits(model, golden, name)
    published = np.load(data / "mistral_swa" / "golden.npz")["logits"]
    assert np.abs(golden[name] - published).max() > 6


def test_every_other_block_of_gemma2_has_a_window(data: Path) -> None:
    _, model = mf_models.load(data / "gemma2")
    decoder: Any = model.model
    assert [decoder.windows[number] for number in decoder.mask_of_layer] == [6, None] * (len(decoder.layers) // 2)
