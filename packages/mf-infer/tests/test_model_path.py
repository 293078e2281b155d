import json
import shutil
from pathlib import Path

import pytest

import mf_ckpt
from mf_config.problems import UserError
from mf_infer.model_path import find_model

LLAMA = Path(__file__).parent / "data" / "llama_gqa"


def save(root, step):
    reader = mf_ckpt.open(LLAMA)
    folder = root / mf_ckpt.step_name(step)
    with mf_ckpt.Writer(folder, step=step) as writer:
        for name, array in reader.items():
            writer.add(name, array)
        writer.add_json("config.json", json.loads((LLAMA / "config.json").read_text()))
    return folder


def test_a_hugging_face_directory_and_a_checkpoint_are_models_themselves(tmp_path):
    assert find_model(LLAMA) == LLAMA
    folder = save(tmp_path, 3)
    assert find_model(str(folder)) == folder


def test_of_a_run_the_newest_complete_checkpoint_is_taken(tmp_path):
    root = tmp_path / "checkpoint"
    older, newer, broken = (save(root, step) for step in (3, 20, 100))
    (broken / "manifest.json").unlink()
    assert older != newer
    assert find_model(tmp_path) == newer
    assert find_model(root) == newer


def test_a_run_without_a_complete_checkpoint_is_refused(tmp_path):
    (save(tmp_path / "checkpoint", 3) / "manifest.json").unlink()
    with pytest.raises(UserError) as caught:
        find_model(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/checkpoint: holds no complete checkpoint: nothing was saved yet, or the save was interrupted."
    )


def test_a_missing_path_is_refused_with_the_nearest_name(tmp_path):
    shutil.copytree(LLAMA, tmp_path / "llama")
    with pytest.raises(UserError, match=r"lama: no such file or folder\. Did you mean .*/llama\?"):
        find_model(tmp_path / "lama")


def test_a_missing_shard_is_refused(tmp_path):
    shutil.copytree(LLAMA, tmp_path / "llama")
    (tmp_path / "llama" / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(UserError, match=r"model-00002-of-00003\.safetensors"):
        find_model(tmp_path / "llama")


def test_an_interrupted_checkpoint_is_refused(tmp_path):
    folder = save(tmp_path, 3)
    (folder / "model-00001-of-00001.safetensors").unlink()
    with pytest.raises(UserError, match="files are missing or of another size"):
        find_model(folder)
