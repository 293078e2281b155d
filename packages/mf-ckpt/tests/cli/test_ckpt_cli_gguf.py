"""GGUF files on the command line: what their headers say becomes files, by functions of other distributions."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gguf
import numpy as np
import pytest

import mf_ckpt
from mf_ckpt import CheckpointFamily, KeyMap, Rename
from mf_ckpt.cli import main
from mf_ckpt.formats.gguf_file import GgufTensors
from mf_config.problems import UserError

KEYS = KeyMap([Rename("model.norm.weight", "output_norm.weight")])
TOKENIZER = {"model": {"vocab": {"é": 0}}}
Maker = Callable[[GgufTensors], dict[str, Any]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A model of one quantised tensor."""
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "toy")
    writer.add_uint32("toy.block_count", 3)
    blocks = gguf.quants.quantize(np.linspace(-1, 1, 64, dtype=np.float32), gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("output_norm.weight", blocks, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tmp_path / "m.gguf"


@pytest.fixture
def announce(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Installs a family that knows `toy`, and makers of documents by the names of their entry points."""

    def describe(config: dict[str, object]) -> CheckpointFamily | None:
        return CheckpointFamily(forms={"gguf": KEYS}) if config.get("model_type") == "toy" else None

    def install(*makers: tuple[str, Maker]) -> None:
        points = [
            SimpleNamespace(name=name, value=f"toy:{number}", load=lambda make=make: make)
            for number, (name, make) in enumerate(makers)
        ]
        monkeypatch.setattr("mf_ckpt.gguf_documents.entry_points", lambda group: points)

    family = SimpleNamespace(value="toy:describe", load=lambda: describe)
    monkeypatch.setattr("mf_ckpt.families.entry_points", lambda group: [family])
    return install


def config(tensors: GgufTensors) -> dict[str, Any]:
    return {"config.json": {"model_type": "toy", "layers": tensors.metadata["toy.block_count"]}}


def tokenizer(tensors: GgufTensors) -> dict[str, Any]:
    return {"tokenizer.json": TOKENIZER}


def refuse(tensors: GgufTensors) -> dict[str, Any]:
    raise UserError(f"{tensors.path}: what it says is not read.")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_header_becomes_the_files_that_are_otherwise_given(
    file: Path, tmp_path: Path, announce: Callable[..., None]
) -> None:
    announce(("config", config))
    described = tmp_path / "config.json"
    described.write_text(json.dumps({"model_type": "toy", "layers": 3}))
    assert main(["convert", str(file), str(tmp_path / "found"), "--to", "hf"]) == 0
    assert main(["convert", str(file), str(tmp_path / "given"), "--to", "hf", "--config", str(described)]) == 0
    assert contents(tmp_path / "found") == contents(tmp_path / "given")
    assert json.loads((tmp_path / "found/config.json").read_text()) == {"model_type": "toy", "layers": 3}
    converted = mf_ckpt.open(tmp_path / "found")
    np.testing.assert_array_equal(converted["model.norm.weight"], mf_ckpt.open(file)["output_norm.weight"])


def test_a_config_that_is_given_is_not_made_and_other_files_are(
    file: Path, tmp_path: Path, announce: Callable[..., None]
) -> None:
    announce(("config", refuse), ("tokenizer", tokenizer))
    described = tmp_path / "config.json"
    described.write_text('{"model_type": "toy", "mine": true}')
    assert main(["convert", str(file), str(tmp_path / "mf"), "--to", "mf", "--config", str(described)]) == 0
    converted = mf_ckpt.open(tmp_path / "mf")
    assert converted.config == {"model_type": "toy", "mine": True}
    assert converted.document("tokenizer.json") == TOKENIZER
    assert mf_ckpt.verify(tmp_path / "mf") == []


def test_files_that_can_not_be_made_are_told_and_left_out(
    file: Path, tmp_path: Path, announce: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    announce(("tokenizer", refuse), ("config", config))
    assert main(["convert", str(file), str(tmp_path / "hf"), "--to", "hf"]) == 0
    message = f"left out of the files beside the weights: {file}: what it says is not read.\n"
    assert message in capsys.readouterr().err
    assert sorted(contents(tmp_path / "hf")) == ["config.json", "model.safetensors"]


def test_a_header_that_no_maker_takes_is_a_mistake_with_its_reason(
    file: Path, tmp_path: Path, announce: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    announce(("config", refuse))
    assert main(["convert", str(file), str(tmp_path / "hf"), "--to", "hf"]) == 2
    assert capsys.readouterr().err == f"{file}: what it says is not read.\n"
    announce(("config", refuse), ("config", config))
    assert main(["convert", str(file), str(tmp_path / "hf"), "--to", "hf"]) == 0


def test_without_a_maker_the_config_is_asked_for_and_the_package_named(
    file: Path, tmp_path: Path, announce: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    announce()
    assert main(["convert", str(file), str(tmp_path / "hf"), "--to", "hf"]) == 2
    error = capsys.readouterr().err
    assert f"{file}: has no config.json to tell the model. Allowed: --config FILE." in error
    assert "With pip install mf-models, none is needed" in error
