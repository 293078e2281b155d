"""Runs that train a LoRA beside frozen weights: interrupted, resumed, evaluated, loaded by others."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mf_ckpt
import mf_models
from mf_ckpt import lora
from mf_config import UserError
from mf_train.cli import main
from mf_train.network_changes import adapt

PET = """\
    pet_config:
      pet_type: lora
      # configuration of lora
      lora_rank: 4
      lora_alpha: 16
      lora_dropout: 0.05
      target_modules: '.*wq|.*wk|.*wv|.*wo'
"""
"""The section of the published file for Llama 2 7B, with a smaller rank."""


@pytest.fixture(scope="module")
def lora_file(write_adapted_run: Callable[[Path, str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run file with `pet_config`."""
    return write_adapted_run(tmp_path_factory.mktemp("lora"), PET)


@pytest.fixture(scope="module")
def whole(lora_file: Path, words: Callable[..., list[str]]) -> Path:
    """The last checkpoint of a run from drawn weights, which is saved after six steps."""
    folder = lora_file.parent / "whole"
    assert main(words(lora_file, folder)) == 0
    found = mf_ckpt.latest(folder / "checkpoint")
    assert found is not None
    return found


def test_a_checkpoint_holds_an_adapter_and_refers_to_its_base(whole: Path) -> None:
    assert not list(whole.glob("model*"))
    assert mf_ckpt.verify(whole) == []
    settings = json.loads((whole / "adapter_config.json").read_text())
    assert settings["target_modules"] == ["k_proj", "o_proj", "q_proj", "v_proj"]
    (base,) = whole.parents[1].glob("base-*")
    assert settings["base_model_name_or_path"] == str(base.resolve())
    adapter, weights = lora.open_adapter(whole), mf_ckpt.open(base)
    _, cell = mf_models.load(whole)
    held = cell.model.layers[0].attention.wq.weight.asnumpy()
    name = "model.layers.0.self_attn.q_proj.weight"
    change = adapter.change(name, (slice(0, 16), slice(0, 16)), np.dtype(np.float64))
    assert np.abs(change).max() > 1e-3
    np.testing.assert_allclose(held, weights[name].astype(np.float64) + change, 0, 1e-6)


def test_interrupted_and_resumed_equals_uninterrupted(
    whole: Path, lora_file: Path, words: Callable[..., list[str]]
) -> None:
    folder = lora_file.parent / "resumed"
    assert main([*words(lora_file, folder, "do_eval=False"), "--stop-after", "3"]) == 0
    assert main(words(lora_file, folder, "do_eval=False", "resume_training=True")) == 0
    last = folder / "checkpoint" / whole.name
    for name in ("adapter_model.safetensors", "optimizer-00001-of-00001.safetensors"):
        assert (last / name).read_bytes() == (whole / name).read_bytes()


def test_finetuning_goes_on_from_an_adapter_and_evaluates_it(
    whole: Path, lora_file: Path, capsys: pytest.CaptureFixture[str], words: Callable[..., list[str]]
) -> None:
    folder = lora_file.parent / "evaluated"
    arguments = words(lora_file, folder, "run_mode=eval", f"load_checkpoint={whole}")
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    recorded = [json.loads(line) for line in (whole.parents[1] / "evaluations.jsonl").read_text().splitlines()]
    assert found["loss"] == recorded[-1]["loss"] != recorded[0]["loss"]


def test_networks_that_are_divided_are_refused() -> None:
    division: Any = SimpleNamespace(weights=SimpleNamespace(are_whole=False))
    model_config = SimpleNamespace(pet_config=object())
    config: Any = SimpleNamespace(model=SimpleNamespace(model_config=model_config))
    with pytest.raises(UserError, match=r"pet_config: .*Allowed: model_parallel 1 and pipeline_stage 1"):
        adapt([], division, config)
