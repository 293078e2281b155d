"""Weights of other forms than Hugging Face's own: MindFormers' `.ckpt`, adapters, GGUF's names."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from mindspore import Tensor

import mf_ckpt
import mf_models
from mf_ckpt.families import family_of
from mf_ckpt.formats.mindspore_ckpt import CkptWriter
from mf_ckpt.keymap.mapped import MappedSource
from mf_config import UserError
from mf_config.layout import Mesh
from mf_models.checkpoint_family import checkpoint_family
from mf_models.families.llama import LlamaConfig
from mf_models.pretrained import open_weights
from mf_models.registry import config_from_hf

LOGITS_ATOL = 2e-4
"""Tolerance that comes with the golden numbers."""


@pytest.fixture
def config(data: Path) -> LlamaConfig:
    config = config_from_hf(json.loads((data / "llama_gqa" / "config.json").read_text()), "config.json")
    assert isinstance(config, LlamaConfig)
    return config


def test_a_ckpt_file_with_the_names_of_mindformers(data: Path, tmp_path: Path, config: LlamaConfig) -> None:
    source = mf_ckpt.open(data / "llama_gqa")
    names = mf_models.family_of(config).forms(config)["mindspore"]
    with CkptWriter(tmp_path / "llama.ckpt") as writer:
        for name in source:
            writer.add(names.forward(name), source[name])
        writer.add("adam_m.model.norm_out.weight", np.zeros(48, np.float32))
        writer.add("global_step", np.int32(7))
    opened = open_weights(tmp_path / "llama.ckpt", config)
    assert set(opened) == set(source)
    assert all(np.array_equal(opened[name], source[name]) for name in source)


def test_the_names_of_gguf_and_back(data: Path, config: LlamaConfig) -> None:
    source = mf_ckpt.open(data / "llama_gqa")
    keys = mf_models.family_of(config).forms(config)["gguf"]
    stored = MappedSource(source, keys)
    # A head of 12 rows in halves, 0 to 5 and 6 to 11, has interleaved pairs (0, 6), (1, 7), … in a GGUF file.
    head = source["model.layers.1.self_attn.k_proj.weight"][12:24]
    assert np.array_equal(stored["blk.1.attn_k.weight"][12:24], head[[0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]])
    again = MappedSource(stored, keys.inverse)
    assert all(np.array_equal(again[name], source[name]) for name in source)


@pytest.mark.parametrize("name", ["llama_gqa_lora", "llama_gqa_lora_rslora"])
def test_an_adapter_beside_the_base_is_merged_in(data: Path, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(data / "llama_gqa", tmp_path / "model")
    for file in ("adapter_config.json", "adapter_model.safetensors"):
        shutil.copy(data / name / file, folder)
    golden = np.load(data / name / "golden.npz")
    _, model = mf_models.load(folder)
    logits = model(Tensor(golden["input_ids"].astype(np.int32))).asnumpy()
    np.testing.assert_allclose(logits, golden["logits_adapter"], 0, LOGITS_ATOL)
    np.testing.assert_allclose(logits, golden["logits_merged"], 0, LOGITS_ATOL)


def test_a_checkpoint_cut_over_ranks_is_loaded_whole(data: Path, tmp_path: Path, config: LlamaConfig) -> None:
    source = mf_ckpt.open(data / "llama_gqa")
    family = checkpoint_family(config.to_hf())
    assert family is not None
    layout = mf_ckpt.place(source.weights, source.optimizer, Mesh.of(pp=2, tp=2), family.rules, ties=family.ties)
    mf_ckpt.transform(source, tmp_path / "cut", layout=layout)
    cut = mf_ckpt.open(tmp_path / "cut")
    assert cut.is_sliced
    assert cut.layout is not None
    assert cut.layout.stages["model.embed_tokens.weight"] == 0
    assert {cut.layout.stages[name] for name in ("model.norm.weight", "lm_head.weight")} == {1}
    opened = open_weights(tmp_path / "cut", config)
    assert all(np.array_equal(opened[name], source[name]) for name in source)


def test_the_tools_of_mf_ckpt_find_the_family(config: LlamaConfig) -> None:
    found = family_of(config.to_hf())
    assert found is not None
    assert len(found.rules) == 12
    assert set(found.forms) == {"mindspore", "gguf"}
    assert family_of({"model_type": "another"}) is None


def test_an_adapter_of_another_model_is_refused(data: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(data / "llama_tied", tmp_path / "model")
    for file in ("adapter_config.json", "adapter_model.safetensors"):
        shutil.copy(data / "llama_gqa_lora" / file, folder)
    config = config_from_hf(json.loads((folder / "config.json").read_text()), "config.json")
    with pytest.raises(UserError, match="adapter"):
        open_weights(folder, config)
