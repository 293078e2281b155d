"""Every kind of damage is found, and nothing else."""

import json
import random
import shutil
from pathlib import Path

import gguf
import numpy as np
import pytest
import safetensors.numpy

from mf_ckpt import CheckpointError, Writer, verify

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    place = tmp_path / "step-00000005"
    with Writer(place, step=5) as writer:
        writer.add("w", np.arange(6, dtype=np.float32))
        writer.add_optimizer("w.exp_avg", np.ones(6, np.float32))
        writer.add_json("config.json", {"model_type": "llama"})
    return place


def texts(path: Path) -> list[str]:
    return [str(finding) for finding in verify(path)]


def test_a_sound_checkpoint_has_no_findings(checkpoint: Path):
    assert verify(checkpoint) == []


def test_any_changed_byte_of_any_file_is_found(checkpoint: Path):
    chance = random.Random(5)
    for path in checkpoint.iterdir():
        sound = path.read_bytes()
        for _ in range(12):
            damaged = bytearray(sound)
            damaged[chance.randrange(len(damaged))] ^= chance.randrange(1, 256)
            path.write_bytes(damaged)
            assert verify(checkpoint), path
        path.write_bytes(sound)
    assert verify(checkpoint) == []


def test_a_missing_file_is_named(checkpoint: Path):
    (checkpoint / "config.json").unlink()
    assert texts(checkpoint) == [f"{checkpoint}/config.json: is missing"]


def test_a_longer_file_is_named_with_both_sizes(checkpoint: Path):
    size = (checkpoint / "config.json").stat().st_size
    with (checkpoint / "config.json").open("ab") as file:
        file.write(b" ")
    assert texts(checkpoint) == [f"{checkpoint}/config.json: has {size + 1} bytes, not the {size} of manifest.json"]


def test_an_unknown_file_is_named(checkpoint: Path):
    (checkpoint / "notes.txt").write_text("x")
    assert texts(checkpoint) == [f"{checkpoint}/notes.txt: is not listed in manifest.json"]


def test_other_content_of_the_same_size_is_named(checkpoint: Path):
    path = checkpoint / "config.json"
    path.write_text(path.read_text().replace("llama", "qwen2"))
    assert [finding.path.name for finding in verify(checkpoint)] == ["config.json"]


def test_several_faults_are_all_found(checkpoint: Path):
    (checkpoint / "config.json").unlink()
    (checkpoint / "notes.txt").write_text("x")
    shard = checkpoint / "optimizer-00001-of-00001.safetensors"
    shard.write_bytes(shard.read_bytes()[:-3])
    found = texts(checkpoint)
    assert [text.partition(": ")[0].rpartition("/")[2] for text in found] == [
        "notes.txt",
        "config.json",
        *[shard.name] * 2,
    ]
    assert "last 3 bytes of data are missing" in found[-1]


def test_a_missing_manifest_is_found(checkpoint: Path):
    (checkpoint / "manifest.json").unlink()
    assert "has no manifest.json" in texts(checkpoint)[0]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"step": 5', '"step": 6', "has been changed since it was written"),
        ('"format_version": 1', '"format_version": 2', "format_version is 2. Allowed: 1"),
        ("mf-checkpoint", "another", "format is 'another'"),
        ('"config.json"', '"../config.json"', "'../config.json', which is not a plain file name"),
        ('"step": 5', '"step": "5"', "needs a step"),
        ('"size"', '"length"', "needs a size"),
    ],
)
def test_a_changed_manifest_is_found(checkpoint: Path, old: str, new: str, fault: str):
    manifest = checkpoint / "manifest.json"
    manifest.write_text(manifest.read_text().replace(old, new))
    assert fault in texts(checkpoint)[0]


def test_a_file_replaced_by_a_link_is_found(checkpoint: Path, tmp_path: Path):
    shutil.move(checkpoint / "config.json", tmp_path / "elsewhere.json")
    (checkpoint / "config.json").symlink_to(tmp_path / "elsewhere.json")
    assert "is a symbolic link" in texts(checkpoint)[0]


@pytest.mark.parametrize("path", sorted((DATA / "damaged").iterdir()), ids=lambda path: path.stem)
def test_single_files_are_judged_by_their_headers(path: Path):
    assert [finding.path for finding in verify(path)] == ([] if path.stem == "good" else [path])


@pytest.mark.parametrize("name", ["crc.ckpt", "plain.ckpt", "strategy.ckpt"])
def test_a_file_of_mindspore_is_judged_by_its_entries_and_its_checksum(name: str, tmp_path: Path):
    sound = DATA / "mindspore" / name
    damaged = tmp_path / name
    damaged.write_bytes(sound.read_bytes()[:-1])
    assert [finding.path for finding in verify(damaged)] == [damaged]
    assert len(verify(sound)) == (name == "strategy.ckpt")
    content = bytearray(sound.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    assert [finding.path for finding in verify(damaged)] == [damaged]


def test_a_gguf_file_is_judged_by_its_header(tmp_path: Path):
    path = tmp_path / "m.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("w", np.zeros((2, 3), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert verify(path) == []
    path.write_bytes(path.read_bytes()[:-40])
    assert [finding.path for finding in verify(path)] == [path]


def test_files_of_other_programs_beside_safetensors_are_no_part_of_the_checkpoint(tmp_path: Path):
    safetensors.numpy.save_file({"a": np.zeros(1)}, tmp_path / "model.safetensors")
    (tmp_path / "last.ckpt").write_bytes(b"a pickle")
    assert verify(tmp_path) == []


def test_a_hugging_face_folder_is_judged_by_headers_and_index(tmp_path: Path):
    assert "model-00002-of-00003.safetensors: is missing" in texts(DATA / "missing_shard")[0]
    safetensors.numpy.save_file({"a": np.zeros(1), "b": np.zeros(1)}, tmp_path / "x.safetensors")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "x.safetensors"}}))
    assert "holds tensor 'b', which model.safetensors.index.json doesn't place there" in texts(tmp_path)[0]
    index.write_text(json.dumps({"weight_map": {"a": "x.safetensors", "b": "x.safetensors"}}))
    assert verify(tmp_path) == []


def test_nothing_at_all_is_a_mistake_of_the_caller(tmp_path: Path):
    with pytest.raises(CheckpointError, match="no such file or folder"):
        verify(tmp_path / "none")
