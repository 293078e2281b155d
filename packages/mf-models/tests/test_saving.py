"""Models written to folders: as the checkpoint that they came from, or as new ones."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from mindspore import Tensor
from safetensors.numpy import load_file, save_file

import mf_ckpt
import mf_models
from mf_config.problems import UserError
from mf_models.initializers import initialize
from mf_models.networks import parameters
from mf_models.registry import config_from_hf
from mf_models.weights import to_checkpoint_names


def files_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if "golden" not in file.name}


@pytest.mark.parametrize("name", ["llama_gqa", "llama_tied_with_copy", "gpt2_classes"])
def test_what_nobody_changed_is_saved_byte_by_byte(name: str, data: Path, tmp_path: Path) -> None:
    """Several files with an index, a copy of the embedding as head, and a head of classes."""
    mf_models.save(*mf_models.load(data / name), tmp_path / "saved", like=data / name)
    assert files_of(tmp_path / "saved") == files_of(data / name)


@pytest.mark.parametrize("name", ["baichuan2", "baichuan2_alibi", "deepseek2", "internlm", "internlm2", "qwen"])
def test_a_file_of_the_safetensors_library_comes_out_as_it_went_in(name: str, data: Path, tmp_path: Path) -> None:
    """The families of which no weights were published by transformers."""
    config = config_from_hf(json.loads((data / name / "config.json").read_text()), name)
    cell = mf_models.build(config)
    initialize(cell, seed=0)
    shutil.copytree(data / name, tmp_path / name)
    tensors = {key: np.ascontiguousarray(array) for key, array in to_checkpoint_names(config, cell)}
    save_file(tensors, tmp_path / name / "model.safetensors", {"format": "pt"})
    mf_models.save(*mf_models.load(tmp_path / name), tmp_path / "saved", like=tmp_path / name)
    assert files_of(tmp_path / "saved") == files_of(tmp_path / name)


def test_each_tensor_keeps_the_type_that_it_lay_in(data: Path, tmp_path: Path) -> None:
    with mf_ckpt.Writer(tmp_path / "mixed") as writer:
        for name, array in mf_ckpt.open(data / "llama_tied").items():
            writer.add(name, array, "F32" if "norm" in name else "BF16")
        writer.add_file("config.json", data / "llama_tied" / "config.json")
        writer.add_json("tokenizer_config.json", {"model_max_length": 64})
    mixed = mf_ckpt.open(tmp_path / "mixed")
    mf_models.save(*mf_models.load(tmp_path / "mixed"), tmp_path / "saved", like=tmp_path / "mixed")
    saved = mf_ckpt.open(tmp_path / "saved")
    assert {name: saved.info(name) for name in saved} == {name: mixed.info(name) for name in mixed}
    assert all(np.array_equal(saved.raw(name), mixed.raw(name)) for name in mixed)
    assert json.loads((tmp_path / "saved" / "tokenizer_config.json").read_text()) == {"model_max_length": 64}


def test_changed_weights_are_saved_and_rounded_to_the_type_that_they_lay_in(data: Path, tmp_path: Path) -> None:
    tensors = load_file(data / "llama_tied" / "model.safetensors")
    shutil.copytree(data / "llama_tied", tmp_path / "half")
    save_file({name: array.astype(np.float16) for name, array in tensors.items()}, tmp_path / "half/model.safetensors")
    config, cell = mf_models.load(tmp_path / "half")
    norm = parameters(cell)["model.norm_out.weight"]
    norm.set_data(Tensor(np.full(norm.shape, 1 / 3, np.float32)))
    mf_models.save(config, cell, tmp_path / "saved", like=tmp_path / "half")
    saved = load_file(tmp_path / "saved" / "model.safetensors")
    np.testing.assert_array_equal(saved.pop("model.norm.weight"), np.full(norm.shape, 1 / 3, np.float16))
    assert all(np.array_equal(array, tensors[name].astype(np.float16)) for name, array in saved.items())


def test_a_new_model_is_saved_with_a_configuration_that_opens_it(data: Path, tmp_path: Path) -> None:
    config, cell = mf_models.load(data / "qwen3")
    mf_models.save(config, cell, tmp_path / "saved")
    again, other = mf_models.load(tmp_path / "saved")
    assert again == config
    for name, parameter in parameters(cell).items():
        np.testing.assert_array_equal(parameters(other)[name].asnumpy(), parameter.asnumpy())


def test_a_checkpoint_of_another_model_gives_no_form(data: Path, tmp_path: Path) -> None:
    config, cell = mf_models.load(data / "llama_gqa")
    with pytest.raises(UserError, match=r"another model, \d+ tensors differ in name or shape: "):
        mf_models.save(config, cell, tmp_path / "saved", like=data / "gpt2")
    assert not (tmp_path / "saved").exists()
