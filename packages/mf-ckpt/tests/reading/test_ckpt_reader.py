"""Opening each form of checkpoint, lazy reading, and what is refused."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from mf_ckpt import CheckpointError, Layout, Writer, transform
from mf_ckpt import open as open_checkpoint
from mf_ckpt.disk.files import json_bytes
from mf_ckpt.dtypes import ELEMENT_TYPES
from mf_ckpt.sources.source import TensorNotFoundError
from mf_ckpt.store.fingerprints import write_new
from mf_ckpt.store.manifest import Manifest, read_manifest, write_manifest
from mf_config.layout import Mesh, Shard, TensorLayout

DATA = Path(__file__).parents[1] / "data"
LAYOUT = Layout(Mesh.of(tp=2), {"w": TensorLayout((4, 6), (Shard(0, "tp"),))})


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ours") / "step-00000007"
    with Writer(place, step=7) as writer:
        writer.add("w", np.arange(24, dtype=np.float32).reshape(4, 6))
        writer.add("half", np.float32([1, 2, 3]), "BF16")
        writer.add("odd", np.arange(3, dtype=np.uint8))
        writer.add("unaligned", np.arange(5, dtype=np.float64))
        writer.add_optimizer("w.exp_avg", np.ones((4, 6), np.float32))
        writer.add_json("config.json", {"model_type": "llama"})
        writer.add_json("layout.json", LAYOUT.to_json())
        writer.add_json("trainer_state.json", {"step": 7})
    return place


def test_an_mf_checkpoint_gives_weights_optimizer_state_and_documents(checkpoint: Path):
    reader = open_checkpoint(checkpoint)
    assert sorted(reader) == ["half", "odd", "unaligned", "w"]
    assert np.array_equal(reader["w"], np.arange(24).reshape(4, 6))
    assert np.array_equal(reader.optimizer["w.exp_avg"], np.ones((4, 6)))
    assert (reader.path, reader.step) == (checkpoint, 7)
    assert reader.config == {"model_type": "llama"}
    assert reader.layout == LAYOUT
    assert not reader.is_sliced
    assert reader.trainer_state == {"step": 7}


def test_bf16_is_widened_unless_raw_is_asked_for(checkpoint: Path):
    reader = open_checkpoint(checkpoint)
    assert (reader.info("half").dtype, reader.info("half").shape, reader.info("half").nbytes) == ("BF16", (3,), 6)
    assert (reader["half"].dtype, reader["half"].tolist()) == (np.float32, [1, 2, 3])
    assert (reader.raw("half").dtype, reader.raw("half").tolist()) == (np.uint16, [0x3F80, 0x4000, 0x4040])
    assert reader.raw("half", (slice(1, 2),)).tolist() == [0x4000]


def test_an_array_is_a_read_only_view_at_an_address_that_suits_its_type(checkpoint: Path):
    reader = open_checkpoint(checkpoint)
    assert not reader["w"].flags.writeable
    assert not reader["w"].flags.owndata
    assert reader["unaligned"].flags.aligned
    assert reader["unaligned"].tolist() == [0, 1, 2, 3, 4]


@given(data=st.data())
def test_a_part_is_that_part_of_the_whole(checkpoint: Path, data: st.DataObject):
    slices = []
    for size in (4, 6)[: data.draw(st.integers(0, 2))]:
        start = data.draw(st.integers(0, size))
        slices.append(slice(start, data.draw(st.integers(start, size))))
    part = open_checkpoint(checkpoint).read("w", tuple(slices))
    assert np.array_equal(part, np.arange(24).reshape(4, 6)[tuple(slices)])


@pytest.mark.parametrize(
    "slices", [(slice(0, 5),), (slice(-1, 4),), (slice(3, 2),), (slice(0, 4, 2),), (slice(0, 1),) * 3]
)
def test_a_part_outside_the_tensor_is_refused(checkpoint: Path, slices: tuple[slice, ...]):
    with pytest.raises(ValueError, match=r"don't lie inside shape \(4, 6\)"):
        open_checkpoint(checkpoint).read("w", slices)


def test_reading_a_part_of_a_huge_tensor_takes_little_memory(tmp_path: Path):
    rows, columns = 2**20, 2**12
    entry = {"dtype": "F32", "shape": [rows, columns], "data_offsets": [0, rows * columns * 4]}
    header = json.dumps({"w": entry}).encode()
    path = tmp_path / "sparse.safetensors"
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + rows * columns * 4)
    before = resident_bytes()
    part = open_checkpoint(path).read("w", (slice(rows // 2, rows // 2 + 16),))
    assert part.shape == (16, columns)
    assert not part.any()
    assert resident_bytes() - before < 32e6


def test_a_missing_name_suggests_the_nearest_and_is_a_key_error(checkpoint: Path):
    reader = open_checkpoint(checkpoint)
    with pytest.raises(TensorNotFoundError, match=r"no tensor 'w.exp_avgs' among 1. Did you mean w.exp_avg") as caught:
        reader.optimizer["w.exp_avgs"]
    assert isinstance(caught.value, KeyError)
    assert reader.get("nothing") is None
    assert "nothing" not in reader


def test_a_single_file_opens_by_itself_and_in_a_folder(tmp_path: Path):
    tensors = {"a": np.float32([[1, 2]]), "b": np.array(3, np.int64)}
    safetensors.numpy.save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"hidden_size": 2}')
    for path in (tmp_path, tmp_path / "model.safetensors"):
        reader = open_checkpoint(path)
        assert {name: array.tolist() for name, array in reader.items()} == {"a": [[1, 2]], "b": 3}
        assert (len(reader.optimizer), reader.trainer_state, reader.step) == (0, None, None)
    assert open_checkpoint(tmp_path).config == {"hidden_size": 2}
    assert open_checkpoint(tmp_path / "model.safetensors").config is None


def test_every_dtype_survives_reading_and_writing(tmp_path: Path):
    expected = json.loads((DATA / "dtypes" / "expected.json").read_text())
    source = open_checkpoint(DATA / "dtypes" / "dtypes.safetensors")
    with Writer(tmp_path / "copy") as writer:
        for name in source:
            writer.add(name, source.raw(name), source.info(name).dtype)
    copy = open_checkpoint(tmp_path / "copy")
    assert set(copy) == set(expected)
    for name, values in expected.items():
        assert copy.info(name) == source.info(name)
        assert list(copy[name].shape) == values["shape"]
        assert hashlib.sha256(copy.raw(name).tobytes()).hexdigest() == values["sha256"]
        wanted = "float32" if values["dtype"] == "bfloat16" else values["dtype"]
        assert copy[name].dtype == wanted


def test_a_missing_shard_is_named_with_the_number_of_its_tensors():
    with pytest.raises(CheckpointError, match=r"model-00002-of-00003.safetensors: is missing; .* 9 tensors"):
        open_checkpoint(DATA / "missing_shard")


@pytest.mark.parametrize(
    ("case", "value"),
    [
        ("absolute", "'/outside.safetensors'"),
        ("backslash", r"'\.\.\\\\outside.safetensors'"),
        ("dotdot", "'../outside.safetensors'"),
        ("notstring", r"\["),
        ("subdir", "'inner/../../outside.safetensors'"),
    ],
)
def test_an_index_that_leaves_its_folder_is_refused(case: str, value: str):
    with pytest.raises(CheckpointError, match=f"places tensor 'lm_head.weight' in {value}"):
        open_checkpoint(DATA / "path_traversal" / case)


def test_a_link_that_leaves_the_folder_is_refused(tmp_path: Path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.safetensors").symlink_to(DATA / "path_traversal" / "outside.safetensors")
    with pytest.raises(CheckpointError, match=r"symbolic link to .*outside.safetensors, outside"):
        open_checkpoint(folder)


def test_a_link_within_the_folder_is_followed(tmp_path: Path):
    shutil.copy(DATA / "damaged" / "good.safetensors", tmp_path / "weights.bin")
    (tmp_path / "model.safetensors").symlink_to("weights.bin")
    assert open_checkpoint(tmp_path)["b"].tolist() == [0, 1, 2, 3]


def test_the_links_of_a_download_cache_are_followed(tmp_path: Path):
    snapshot, blobs = tmp_path / "snapshots" / "abc", tmp_path / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    shutil.copy(DATA / "damaged" / "good.safetensors", blobs / "1234")
    (snapshot / "model.safetensors").symlink_to("../../blobs/1234")
    assert open_checkpoint(snapshot)["b"].tolist() == [0, 1, 2, 3]


def test_a_tensor_that_its_file_lacks_is_named(tmp_path: Path):
    shutil.copy(DATA / "damaged" / "good.safetensors", tmp_path / "x.safetensors")
    weight_map = {"a": "x.safetensors", "c": "x.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    with pytest.raises(CheckpointError, match=r"x.safetensors: lacks 1 tensors that .* places there: 'c'"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize("text", ["{}", '{"weight_map": []}', "[]", '{"weight_map": {"a": "x", "a": "y"}}', "{"])
def test_a_malformed_index_is_refused(tmp_path: Path, text: str):
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"model.safetensors.index.json: "):
        open_checkpoint(tmp_path)


def test_a_document_outside_the_folder_is_refused(checkpoint: Path):
    with pytest.raises(CheckpointError, match=r"'\.\./secret\.json' is not a plain file name"):
        open_checkpoint(checkpoint).document("../secret.json")
    assert open_checkpoint(checkpoint).document("none.json") is None


def test_asking_for_a_name_reads_nothing(checkpoint: Path, monkeypatch: pytest.MonkeyPatch):
    reader = open_checkpoint(checkpoint)
    monkeypatch.setattr(reader, "read", None)
    assert "half" in reader
    assert "quarter" not in reader


def test_a_checkpoint_of_the_hugging_face_trainer_opens(tmp_path: Path):
    shutil.copy(DATA / "damaged" / "good.safetensors", tmp_path / "model.safetensors")
    (tmp_path / "trainer_state.json").write_text('{"global_step": 500}')
    assert open_checkpoint(tmp_path).trainer_state == {"global_step": 500}


def test_a_manifest_without_an_index_is_no_checkpoint(tmp_path: Path):
    write_manifest(tmp_path, Manifest(None, {}))
    with pytest.raises(CheckpointError, match=r"model\.safetensors\.index\.json: no such file"):
        open_checkpoint(tmp_path)


def test_an_interrupted_save_is_no_hugging_face_folder(checkpoint: Path, tmp_path: Path):
    copy = tmp_path / "copy"
    shutil.copytree(checkpoint, copy)
    (copy / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match=r"no manifest\.json, so its save was interrupted"):
        open_checkpoint(copy)


@pytest.mark.parametrize("damage", ["shorter", "missing"])
def test_a_checkpoint_that_lost_data_is_refused(checkpoint: Path, tmp_path: Path, damage: str):
    copy = tmp_path / "copy"
    shutil.copytree(checkpoint, copy)
    victim = copy / "trainer_state.json"
    victim.write_text("{}") if damage == "shorter" else victim.unlink()
    with pytest.raises(CheckpointError, match="files are missing or of another size"):
        open_checkpoint(copy)


def test_a_folder_of_checkpoints_names_them(checkpoint: Path):
    with pytest.raises(CheckpointError, match=r"is no checkpoint: .* It holds checkpoints: step-00000007"):
        open_checkpoint(checkpoint.parent)


def test_a_mistyped_path_suggests_the_nearest(checkpoint: Path):
    with pytest.raises(CheckpointError, match=r"no such file or folder. Did you mean .*step-00000007"):
        open_checkpoint(checkpoint.with_name("step-0000007"))


def test_a_damaged_document_is_refused_by_name(tmp_path: Path):
    shutil.copy(DATA / "damaged" / "good.safetensors", tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"a": 1, "a": 2}')
    with pytest.raises(CheckpointError, match=r"config\.json: the name 'a' is written twice"):
        _ = open_checkpoint(tmp_path).config


def test_every_element_type_is_the_one_that_the_library_reads(tmp_path: Path):
    kinds = [name for name, kind in ELEMENT_TYPES.items() if kind.widen is None and name != "C64"]
    tensors = {name: np.ones(3, ELEMENT_TYPES[name].storage) for name in kinds}
    safetensors.numpy.save_file(tensors, tmp_path / "x.safetensors")
    reader = open_checkpoint(tmp_path / "x.safetensors")
    assert {name: reader.info(name).dtype for name in kinds} == {name: name for name in kinds}
    assert all(np.array_equal(reader[name], tensors[name]) for name in kinds)


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def replace_layout(folder: Path, layout: Layout | None) -> None:
    """Put another layout document, or none, into a checkpoint, as if it had been saved so."""
    files = dict(read_manifest(folder).files)
    del files["layout.json"]
    (folder / "layout.json").unlink()
    (folder / "manifest.json").unlink()
    if layout is not None:
        files["layout.json"] = write_new(folder / "layout.json", json_bytes(layout.to_json()))
    write_manifest(folder, Manifest(None, files))


def test_pieces_of_ranks_need_the_layout_that_puts_them_together(tmp_path: Path):
    source = tmp_path / "model.safetensors"
    safetensors.numpy.save_file({"w": np.arange(24, dtype=np.float32).reshape(4, 6)}, source)
    transform(source, tmp_path / "cut", layout=LAYOUT)
    reader = open_checkpoint(tmp_path / "cut")
    assert reader.is_sliced
    assert np.array_equal(reader["w"], np.arange(24).reshape(4, 6))
    replace_layout(tmp_path / "cut", Layout(LAYOUT.mesh, {"w": TensorLayout((6, 6), (Shard(0, "tp"),))}))
    with pytest.raises(
        CheckpointError, match=r"cut: tensor 'w': rank 0 has a piece of shape \[2, 6\]. Allowed: \[3, 6\]"
    ):
        open_checkpoint(tmp_path / "cut")
    replace_layout(tmp_path / "cut", None)
    with pytest.raises(CheckpointError, match=r"holds the pieces of ranks, but no layout\.json"):
        open_checkpoint(tmp_path / "cut")
