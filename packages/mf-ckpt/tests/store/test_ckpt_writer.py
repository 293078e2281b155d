"""What a finished checkpoint consists of, and that a failed one leaves nothing."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mf_ckpt import CheckpointError, Writer, verify
from mf_ckpt import open as open_checkpoint

STORABLE = [np.dtype(code) for code in ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", "c8")]
ANY_ARRAY = st.sampled_from(STORABLE).flatmap(
    lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)


def save(place: Path, value: float, step: int = 1) -> None:
    with Writer(place, step=step) as writer:
        writer.add("w", np.float32([value]))


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@settings(max_examples=40)
@given(tensors=st.dictionaries(st.text(max_size=20), ANY_ARRAY, max_size=6), shard_bytes=st.integers(1, 400))
def test_any_arrays_come_back_bit_by_bit(tmp_path_factory: pytest.TempPathFactory, tensors: dict, shard_bytes: int):
    tensors.pop("__metadata__", None)
    place = tmp_path_factory.mktemp("any") / "checkpoint"
    with Writer(place, shard_bytes=shard_bytes) as writer:
        for name, array in tensors.items():
            writer.add(name, array)
    reader = open_checkpoint(place)
    assert set(reader) == set(tensors)
    for name, array in tensors.items():
        assert (reader[name].dtype, reader[name].shape) == (array.dtype, array.shape)
        assert reader[name].tobytes() == array.tobytes()
    assert verify(place) == []


def test_the_files_are_those_that_hugging_face_tools_expect(tmp_path: Path):
    with Writer(tmp_path / "c", step=3, shard_bytes=16) as writer:
        for name in ("b", "a", "c"):
            writer.add(name, np.float32([1, 2, 3]))
        writer.add_optimizer("a.exp_avg", np.float32([4]))
        writer.add_json("config.json", {"model_type": "llama"})
        writer.add_file("tokenizer.json", b"{}")
    assert set(content(tmp_path / "c")) == {
        *(f"model-0000{number}-of-00003.safetensors" for number in (1, 2, 3)),
        "model.safetensors.index.json",
        "optimizer-00001-of-00001.safetensors",
        "optimizer.safetensors.index.json",
        "config.json",
        "tokenizer.json",
        "manifest.json",
    }
    index = json.loads((tmp_path / "c" / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == 36
    assert index["weight_map"]["a"] == "model-00002-of-00003.safetensors"
    shard = tmp_path / "c" / index["weight_map"]["a"]
    assert safetensors.numpy.load_file(shard)["a"].tolist() == [1, 2, 3]
    with safetensors.safe_open(shard, "numpy") as opened:
        assert opened.metadata() == {"format": "pt"}


def test_the_optimizer_has_no_files_where_it_has_no_tensors(tmp_path: Path):
    save(tmp_path / "c", 1.0)
    assert not list((tmp_path / "c").glob("optimizer*"))


def test_a_tensor_larger_than_a_file_gets_one_of_its_own(tmp_path: Path):
    with Writer(tmp_path / "c", shard_bytes=8) as writer:
        writer.add("small", np.zeros(1, np.float32))
        writer.add("large", np.zeros(100, np.float32))
        writer.add("last", np.zeros(1, np.float32))
    assert len(list((tmp_path / "c").glob("model-*.safetensors"))) == 3


def test_more_tensors_than_a_header_holds_go_into_further_files(tmp_path: Path):
    names = ["n" * 900 + f"\x01{number}" for number in range(300)]
    with Writer(tmp_path / "c") as writer:
        for name in names:
            writer.add(name, np.zeros(1, np.uint8))
    assert set(open_checkpoint(tmp_path / "c")) == set(names)
    assert len(list((tmp_path / "c").glob("model-*.safetensors"))) == 3


def test_the_longest_names_fit_however_they_are_escaped(tmp_path: Path):
    names = [f"{number:03d}" + "\x01" * 997 for number in range(40)]
    with Writer(tmp_path / "c") as writer:
        for name in names:
            writer.add(name, np.zeros(1, np.uint8))
    assert set(open_checkpoint(tmp_path / "c")) == set(names)


def test_the_same_content_gives_the_same_bytes(tmp_path: Path):
    save(tmp_path / "a", 1.0)
    save(tmp_path / "b", 1.0)
    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_one_tensor_is_held_at_a_time(tmp_path: Path):
    tracemalloc.start()
    with Writer(tmp_path / "c", shard_bytes=3_000_000) as writer:
        for number in range(12):
            writer.add(str(number), np.full(250_000, number, np.float32))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * 1_000_000


def test_data_begins_at_a_page(tmp_path: Path):
    save(tmp_path / "c", 1.0)
    (shard,) = (tmp_path / "c").glob("model-*.safetensors")
    assert (int.from_bytes(shard.read_bytes()[:8], "little") + 8) % 4096 == 0


def test_an_exception_removes_the_new_and_keeps_the_old(tmp_path: Path):
    save(tmp_path / "c", 1.0)
    before = content(tmp_path / "c")
    with pytest.raises(KeyboardInterrupt), Writer(tmp_path / "c", step=2) as writer:
        writer.add("w", np.float32([2]))
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
    assert content(tmp_path / "c") == before


def test_a_failing_commit_removes_the_new_and_keeps_the_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    save(tmp_path / "c", 1.0)
    before = content(tmp_path / "c")
    rename = Path.rename

    def fail_on_partial(self: Path, target: Path) -> Path:
        if ".partial-" in self.name:
            raise OSError("no space left")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_on_partial)
    with pytest.raises(OSError, match="no space left"):
        save(tmp_path / "c", 2.0)
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
    assert content(tmp_path / "c") == before


def test_an_interrupt_between_the_renames_puts_the_old_one_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    save(tmp_path / "c", 1.0)
    rename = Path.rename

    def interrupt_after_the_first(self: Path, target: Path) -> Path:
        result = rename(self, target)
        if ".replaced-" in target.name:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(Path, "rename", interrupt_after_the_first)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path / "c", 2.0)
    assert open_checkpoint(tmp_path / "c")["w"].tolist() == [1.0]
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_a_checkpoint_is_replaced_whole(tmp_path: Path):
    save(tmp_path / "c", 1.0)
    save(tmp_path / "c", 2.0, step=2)
    reader = open_checkpoint(tmp_path / "c")
    assert (reader["w"].tolist(), reader.step) == ([2.0], 2)
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_nothing_but_a_checkpoint_or_an_empty_folder_is_replaced(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    save(tmp_path / "empty", 1.0)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    for name in ("notes", "file", "link"):
        with pytest.raises(CheckpointError, match="exists and is not a checkpoint"):
            save(tmp_path / name, 1.0)
    assert (tmp_path / "notes" / "thesis.txt").read_text() == "years of work"


def test_a_file_is_copied_as_it_is(tmp_path: Path):
    (tmp_path / "source.model").write_bytes(bytes(range(256)))
    with Writer(tmp_path / "c") as writer:
        writer.add_file("tokenizer.model", tmp_path / "source.model")
    assert (tmp_path / "c" / "tokenizer.model").read_bytes() == bytes(range(256))


@pytest.mark.parametrize(
    "name", ["manifest.json", "model-1.safetensors", "../x", ".x", "a/b", "", "x.safetensors.index.json"]
)
def test_a_file_name_that_is_not_free_is_refused(tmp_path: Path, name: str):
    with pytest.raises(ValueError, match="can't be added"), Writer(tmp_path / "c") as writer:
        writer.add_file(name, b"")
    assert not list(tmp_path.iterdir())


def test_adding_twice_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="'w' was added before"), Writer(tmp_path / "c") as writer:
        writer.add("w", np.zeros(1))
        writer.add("w", np.zeros(1))
    with pytest.raises(FileExistsError), Writer(tmp_path / "c") as writer:
        writer.add_json("config.json", {})
        writer.add_json("config.json", {})


def test_other_users_may_read_what_the_umask_allows(tmp_path: Path):
    save(tmp_path / "c", 1.0)
    plain = tmp_path / "plain"
    plain.mkdir()
    assert (tmp_path / "c").stat().st_mode == plain.stat().st_mode
