"""Runs that train learnt keys and values before each text: interrupted, resumed, evaluated."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import mf_ckpt
from mf_train.cli import main

PET = """\
    pet_config:
      pet_type: ptuning2
      pre_seq_len: 4
      prefix_projection: True #False
      projection_dim: 8
      dropout_prob: 0.01
"""
"""The section of the published file for Llama 2 7B, with smaller sizes."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def prefix_file(write_adapted_run: Callable[[Path, str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run file with `pet_config`."""
    return write_adapted_run(tmp_path_factory.mktemp("prefix"), PET)


@pytest.fixture(scope="module")
def whole(prefix_file: Path, words: Callable[..., list[str]]) -> Path:
    """The last checkpoint of a run from drawn weights, which is saved after six steps."""
    folder = prefix_file.parent / "whole"
    assert main(words(prefix_file, folder)) == 0
    found = mf_ckpt.latest(folder / "checkpoint")
    assert found is not None
    return found


def test_a_checkpoint_holds_the_prefix_and_refers_to_its_base(whole: Path) -> None:
    assert not list(whole.glob("model*")) and mf_ckpt.verify(whole) == []
    settings = json.loads((whole / "adapter_config.json").read_text())
    (base,) = whole.parents[1].glob("base-*")
    assert settings["base_model_name_or_path"] == str(base.resolve())
    found = mf_ckpt.open(whole)
    # The optimizer keeps two moments of three trained matrices, and of nothing else.
    assert len(found.optimizer) == 6 and len(found) == len(mf_ckpt.open(base))


def test_interrupted_and_resumed_equals_uninterrupted(
    whole: Path, prefix_file: Path, words: Callable[..., list[str]]
) -> None:
    folder = prefix_file.parent / "resumed"
    assert main([*words(prefix_file, folder, "do_eval=False"), "--stop-after", "3"]) == 0
    assert main(words(prefix_file, folder, "do_eval=False", "resume_training=True")) == 0
    for name in ("adapter_model.safetensors", "optimizer-00001-of-00001.safetensors"):
        assert (folder / "checkpoint" / whole.name / name).read_bytes() == (whole / name).read_bytes()


def test_an_evaluation_has_the_prefix(
    whole: Path, prefix_file: Path, capsys: pytest.CaptureFixture[str], words: Callable[..., list[str]]
) -> None:
    arguments = words(prefix_file, prefix_file.parent / "evaluated", "run_mode=eval", f"load_checkpoint={whole}")
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    recorded = [json.loads(line) for line in (whole.parents[1] / "evaluations.jsonl").read_text().splitlines()]
    assert found["loss"] == recorded[-1]["loss"] != recorded[0]["loss"]
