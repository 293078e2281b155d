"""A checkpoint of a run that trained an adapter: it holds no weights, and names its base."""

from pathlib import Path

import numpy as np
import pytest

import mf_ckpt
from mf_ckpt import lora
from mf_config.problems import UserError

NAME = "model.layers.0.self_attn.q_proj.weight"


def save(folder: Path, base: str) -> None:
    tensors = mf_ckpt.ArraySource({"a": np.ones((2, 4), np.float32), "b": np.ones((4, 2), np.float32)})
    pair = lora.LoraPair(a="a", b="b", rank=2, scale=1.0, shape=(4, 4))
    config = lora.LoraConfig(rank=2, alpha=2, document={"base_model_name_or_path": base})
    adapter = lora.Adapter(tensors, config, {NAME: pair}, {}, "run")
    with mf_ckpt.Writer(folder, step=3) as writer:
        for name, content in lora.adapter_files(adapter).items():
            writer.add_file(name, content)
        writer.add_optimizer("adam_m.a", np.zeros((2, 4), np.float32))


def test_it_opens_with_the_base_that_it_names(tmp_path: Path):
    with mf_ckpt.Writer(tmp_path / "run" / "base-1") as writer:
        writer.add(NAME, np.eye(4, dtype=np.float32))
    trained = tmp_path / "run" / "checkpoint" / "step-00000003"
    save(trained, str(tmp_path / "run" / "base-1"))
    reader = mf_ckpt.open(trained)
    assert (reader.step, list(reader), list(reader.optimizer)) == (3, [NAME], ["adam_m.a"])
    assert reader.base == tmp_path / "run" / "base-1"
    assert mf_ckpt.verify(trained) == []
    # A run that moved as a whole still has its base beside its checkpoints.
    (tmp_path / "run").rename(tmp_path / "moved")
    moved = mf_ckpt.open(tmp_path / "moved" / "checkpoint" / "step-00000003")
    assert moved.base == tmp_path / "moved" / "base-1"


def test_without_its_base_it_says_where_that_should_be(tmp_path: Path):
    save(tmp_path / "step-00000003", "nowhere")
    with pytest.raises(UserError, match=r"an adapter without its base: .* lies at 'nowhere'. Allowed: the base there"):
        mf_ckpt.open(tmp_path / "step-00000003")
