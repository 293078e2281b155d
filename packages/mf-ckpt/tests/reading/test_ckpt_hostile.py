"""Checkpoints that are damaged, or made to mislead, are refused in words, at once, and without a look outside."""

import json
import shutil
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_128_hexdigest

from mf_ckpt import CheckpointError, Writer, verify
from mf_ckpt import open as open_checkpoint
from mf_ckpt.cli import main
from mf_ckpt.formats.safetensors_file.header import read_header
from mf_ckpt.store.manifest import read_manifest

DATA = Path(__file__).parents[1] / "data"
DAMAGED = sorted(path for path in (DATA / "damaged").iterdir() if path.stem != "good")

INDEX = "model.safetensors.index.json"

LEAVING = {
    "absolute": "/outside.safetensors",
    "backslash": "..\\outside.safetensors",
    "dotdot": "../outside.safetensors",
    "notstring": ["x"],
    "subdir": "inner/../../outside.safetensors",
}
"""What each index of case path_traversal places `lm_head.weight` in."""

OPEN_ALL = """
import json, sys
import mf_ckpt
opened = []
sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event == "open" else None)
for folder in sys.argv[1:]:
    try:
        mf_ckpt.open(folder)
    except mf_ckpt.CheckpointError as error:
        print(json.dumps(str(error)))
assert any(name.endswith(".json") for name in opened)
print(json.dumps([name for name in opened if "outside" in name]))
"""

SECONDS = 1.0
"""Within which a damaged file must be refused."""


def listing(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.lstat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize("command", ["inspect", "verify"])
@pytest.mark.parametrize("path", DAMAGED, ids=lambda path: path.stem)
def test_a_damaged_file_is_refused_quickly_with_little_memory_and_one_line(
    command: str, path: Path, capsys: pytest.CaptureFixture[str]
):
    before = listing(path.parent)
    started = time.perf_counter()
    tracemalloc.start()
    status = main([command, str(path)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert time.perf_counter() - started < SECONDS
    assert peak < 5_000_000
    printed = capsys.readouterr()
    assert status == {"inspect": 2, "verify": 1}[command]
    text = {"inspect": printed.err, "verify": printed.out}[command]
    assert text.startswith(f"{path}: ")
    assert text.count("\n") == 1
    assert listing(path.parent) == before


@pytest.mark.parametrize("path", DAMAGED, ids=lambda path: path.stem)
def test_a_damaged_file_among_sound_ones_is_the_one_that_is_named(path: Path, tmp_path: Path):
    safetensors.numpy.save_file({"first": np.zeros(2)}, tmp_path / "model-1.safetensors")
    shutil.copy(path, tmp_path / "model-2.safetensors")
    weight_map = {"first": "model-1.safetensors", "second": "model-2.safetensors"}
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": weight_map}))
    with pytest.raises(CheckpointError) as caught:
        open_checkpoint(tmp_path)
    assert caught.value.path == tmp_path / "model-2.safetensors"
    assert [finding.path for finding in verify(tmp_path)] == [caught.value.path]


@given(data=st.data())
def test_offsets_and_shapes_are_accepted_where_the_reference_library_accepts_them(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
):
    entries, reached = {}, 0
    # Mostly tensors in order, so that sound files occur as well as gaps, overlaps and lies about sizes.
    for name in data.draw(st.lists(st.sampled_from("abcd"), unique=True)):
        shape = data.draw(st.lists(st.integers(0, 3), max_size=2))
        begin = max(0, reached + data.draw(st.sampled_from([0, 0, 0, 0, 1, -1])))
        reached = begin + int(np.prod(shape)) + data.draw(st.sampled_from([0, 0, 0, 0, 1, -1]))
        entries[name] = {"dtype": "U8", "shape": shape, "data_offsets": [begin, max(0, reached)]}
    header = json.dumps(entries).encode()
    size = max(0, reached + data.draw(st.sampled_from([0, 0, 0, 1, -1])))
    content = len(header).to_bytes(8, "little") + header + bytes(size)
    path = tmp_path_factory.mktemp("any") / "x.safetensors"
    path.write_bytes(content)
    try:
        expected = {name: tuple(tensor["shape"]) for name, tensor in safetensors.deserialize(content)}
    except safetensors.SafetensorError:
        with pytest.raises(CheckpointError):
            read_header(path)
    else:
        assert {name: info.shape for name, info in read_header(path).tensors.items()} == expected


def test_a_missing_shard_stops_every_command(capsys: pytest.CaptureFixture[str]):
    folder = DATA / "missing_shard"
    for command, status in (("inspect", 2), ("verify", 1)):
        assert main([command, str(folder)]) == status
        printed = capsys.readouterr()
        text = printed.err + printed.out
        assert text.startswith(f"{folder}/model-00002-of-00003.safetensors: is missing")
        assert "places 9 tensors there: 'model.layers.0.input_layernorm.weight'" in text


def test_an_index_that_leaves_its_folder_is_refused_before_anything_outside_is_opened(tmp_path: Path):
    for case in LEAVING:
        make_leaving(tmp_path / case / "model", case)
    folders = [str(tmp_path / case / "model") for case in LEAVING]
    done = subprocess.run(
        [sys.executable, "-c", OPEN_ALL, *folders], capture_output=True, text=True, check=True, timeout=60
    )
    *messages, opened = map(json.loads, done.stdout.splitlines())
    assert messages == [
        f"{folder}/{INDEX}: places tensor 'lm_head.weight' in {LEAVING[case]!r}. "
        "Allowed: the name of a file in that folder."
        for folder, case in zip(folders, LEAVING, strict=True)
    ]
    assert opened == []


def make_leaving(folder: Path, case: str) -> None:
    """A folder with an index that leaves it, sound shards, and a sound file where the index leads."""
    (folder / "inner").mkdir(parents=True)
    shutil.copy(DATA / "path_traversal" / "config.json", folder)
    shutil.copy(DATA / "path_traversal" / "outside.safetensors", folder.parent)
    shutil.copy(DATA / "path_traversal" / case / INDEX, folder)
    weight_map = json.loads((folder / INDEX).read_text())["weight_map"]
    for number in (1, 2, 3):
        shard = f"model-0000{number}-of-00003.safetensors"
        held = {name: np.zeros(1, np.float32) for name, place in weight_map.items() if place == shard}
        safetensors.numpy.save_file(held, folder / shard)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A complete checkpoint, beside a copy of its files under `elsewhere`."""
    with Writer(tmp_path / "model", step=5) as writer:
        writer.add("w", np.arange(6, dtype=np.float32))
        writer.add_json("config.json", {"model_type": "llama"})
    shutil.copytree(tmp_path / "model", tmp_path / "elsewhere")
    return tmp_path / "model"


@pytest.mark.parametrize("name", ["model-00001-of-00001.safetensors", INDEX, "config.json", "manifest.json"])
@pytest.mark.parametrize("through", ["directly", "by a second link", "by a folder's link"])
def test_no_file_may_be_a_link_that_leaves_the_folder(folder: Path, name: str, through: str):
    target = folder.parent / "elsewhere" / name
    (folder / name).unlink()
    if through == "by a second link":
        (folder / "second").symlink_to(target)
        target = folder / "second"
    elif through == "by a folder's link":
        (folder / "inner").symlink_to(target.parent)
        target = folder / "inner" / name
    (folder / name).symlink_to(target)
    with pytest.raises(
        CheckpointError, match=r"is a symbolic link to .*/elsewhere/.*, outside the checkpoint's folder"
    ):
        _ = open_checkpoint(folder).config
    assert any(finding.path == folder / name and "symbolic link" in finding.what for finding in verify(folder))


def test_a_link_to_nowhere_is_a_missing_file(folder: Path):
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to("nothing.json")
    assert [str(finding) for finding in verify(folder)] == [f"{folder}/config.json: is missing"]


def test_a_checkpoint_may_be_reached_through_a_link(folder: Path):
    link = folder.with_name("link")
    link.symlink_to(folder)
    assert open_checkpoint(link)["w"].tolist() == [0, 1, 2, 3, 4, 5]
    assert verify(link) == []


@pytest.mark.parametrize(("blobs", "allowed"), [("blobs", True), ("blobs/deeper", False), ("other", False)])
def test_only_the_links_of_a_download_cache_may_leave(tmp_path: Path, blobs: str, allowed: bool):
    snapshot = tmp_path / "models--name" / "snapshots" / "0123abcd"
    blob = snapshot.parents[1] / blobs / "fe45"
    for parent in (snapshot, blob.parent):
        parent.mkdir(parents=True)
    shutil.copy(DATA / "damaged" / "good.safetensors", blob)
    (snapshot / "model.safetensors").symlink_to(blob)
    if allowed:
        assert open_checkpoint(snapshot)["a"].tolist() == [[0, 1], [2, 3]]
    else:
        with pytest.raises(CheckpointError, match="outside the checkpoint's folder"):
            open_checkpoint(snapshot)


def test_the_checksums_are_those_of_the_files(folder: Path):
    """Read back as the manifest's description says: from `start` to the end, then what comes before."""
    manifest = json.loads((folder / "manifest.json").read_text())
    assert set(manifest["files"]) == {path.name for path in folder.iterdir()} - {"manifest.json"}
    for name, entry in manifest["files"].items():
        content = (folder / name).read_bytes()
        start = entry.get("start", 0)
        assert entry["size"] == len(content)
        assert entry["xxh3_128"] == xxh3_128_hexdigest(content[start:] + content[:start])
    assert manifest["files"]["model-00001-of-00001.safetensors"]["start"] == 131_072


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"config.json"', '"/etc/passwd"', "lists '/etc/passwd', which is not a plain file name"),
        ('"config.json"', '"manifest.json"', "or is the manifest's own"),
        ('"config.json"', f'"{INDEX}"', f"the name '{INDEX}' is written twice"),
        ('"size": 28', '"size": -1', "needs a size"),
        ('"size": 28', '"size": 28.0', "needs a size"),
        ('"size": 28', '"size": 28, "start": 29', "a start within it"),
        ('"size": 28', '"size": 28, "start": 0', "has been changed since it was written"),
        ('"size": 28', '"size": 29', "has been changed since it was written"),
        ('"xxh3_128": "', '"xxh3_128": "0', "needs xxh3_128, 32 hexadecimal digits"),
        ('"xxh3_128": "', '"sha256": "', "needs xxh3_128, 32 hexadecimal digits"),
        ('"files": {', '"files": {"x": 1, ', "needs an object with size"),
    ],
)
def test_a_manifest_that_misleads_is_refused(folder: Path, old: str, new: str, fault: str):
    manifest = folder / "manifest.json"
    text = manifest.read_text()
    assert old in text
    manifest.write_text(text.replace(old, new, 1))
    with pytest.raises(CheckpointError) as caught:
        read_manifest(folder)
    assert caught.value.path == manifest
    assert fault in caught.value.what
    assert [finding.path for finding in verify(folder)] == [manifest]


def test_a_wrong_checksum_is_found_where_everything_else_fits(folder: Path):
    name = "model-00001-of-00001.safetensors"
    content = bytearray((folder / name).read_bytes())
    content[-1] ^= 0x80
    (folder / name).write_bytes(content)
    assert open_checkpoint(folder)["w"][5] == -5
    assert [str(finding) for finding in verify(folder)] == [
        f"{folder}/{name}: has other content than when it was saved (xxh3_128 differs from manifest.json)"
    ]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Every damaged file, a folder that lacks a shard, and folders whose index leads outside."""
    root = tmp_path_factory.mktemp("hostile")
    for case in LEAVING:
        make_leaving(root / case / "model", case)
    return [*DAMAGED, DATA / "missing_shard", *(root / case / "model" for case in LEAVING)]


@pytest.mark.parametrize(
    "options", [["convert", "--to", "hf"], ["convert", "--to", "mf"], ["reshard", "--mesh", "tp=1"]], ids="-".join
)
def test_nothing_is_written_from_what_is_refused(
    options: list[str], hostile: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "there").write_text("what was there")
    for source in hostile:
        before = listing(source.parent)
        assert main([options[0], str(source), str(tmp_path / "new" / "out"), *options[1:]]) == 2
        assert str(source) in capsys.readouterr().err
        assert [path.name for path in tmp_path.iterdir()] == ["there"]
        assert listing(source.parent) == before
