from pathlib import Path

import numpy as np
import pytest

import mf_ckpt
from mf_config.problems import UserError


def save(root: Path, step: int) -> Path:
    folder = root / mf_ckpt.step_name(step)
    with mf_ckpt.Writer(folder, step=step) as writer:
        writer.add("weight", np.ones((2, 3), np.float32))
    return folder


def test_a_checkpoint_means_itself(tmp_path: Path) -> None:
    folder = save(tmp_path, 3)
    assert mf_ckpt.find(str(folder)) == folder
    file = folder / "model-00001-of-00001.safetensors"
    assert mf_ckpt.find(file) == file


def test_of_a_run_the_newest_complete_checkpoint_is_taken(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    older, newer, broken = (save(root, step) for step in (3, 20, 100))
    (broken / "manifest.json").unlink()
    assert older != newer
    assert mf_ckpt.find(tmp_path) == newer
    assert mf_ckpt.find(root) == newer


def test_a_run_without_a_complete_checkpoint_is_refused(tmp_path: Path) -> None:
    (save(tmp_path / "checkpoint", 3) / "manifest.json").unlink()
    with pytest.raises(UserError) as caught:
        mf_ckpt.find(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/checkpoint: holds no complete checkpoint: nothing was saved yet, or the save was interrupted"
    )


def test_a_path_that_is_no_checkpoint_is_left_for_open_to_refuse(tmp_path: Path) -> None:
    assert mf_ckpt.find(tmp_path / "nothing") == tmp_path / "nothing"
    with pytest.raises(UserError, match="no such file or folder"):
        mf_ckpt.open(mf_ckpt.find(tmp_path / "nothing"))
