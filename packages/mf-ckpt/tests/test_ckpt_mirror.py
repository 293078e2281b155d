"""Copies of a run's folder follow it, on fsspec's file systems for memory and for local files."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import fsspec
import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from mf_ckpt import Writer, remote, step_name
from mf_ckpt.mirror import Mirror
from mf_config.problems import UserError


@pytest.fixture(params=["memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    yield "memory://bucket/run" if request.param == "memory" else f"file://{tmp_path}/store/run"
    MemoryFileSystem.store.clear()


@pytest.fixture
def output(tmp_path: Path) -> Path:
    root = tmp_path / "output"
    (root / "log").mkdir(parents=True)
    (root / "metrics.jsonl").write_text("{}\n")
    (root / "log/rank_0.log").write_text("begun\n")
    return root


def mirror(output: Path, url: str, **options: object) -> Mirror:
    return Mirror(output, url, checkpoints=output / "checkpoint", **options)


def save(place: Path, step: int, value: float = 1.0) -> Path:
    with Writer(place, step=step) as writer:
        writer.add("w", np.float32([value]))
    return place


def save_step(output: Path, step: int, value: float = 1.0) -> Path:
    return save(output / "checkpoint" / step_name(step), step, value)


def stored(url: str) -> dict[str, bytes]:
    """Name to content of what lies in the store."""
    store, root = fsspec.core.url_to_fs(url)
    return {path.removeprefix(f"{root}/"): store.cat_file(path) for path in store.find(root)}


def files_in(url: str, folder: str = "") -> set[str]:
    return {name for name in stored(url) if name.startswith(folder)}


@pytest.fixture
def transfers(url: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that arrive, in their order; those in `FAILING` don't."""
    names: list[str] = []
    kind = type(fsspec.core.url_to_fs(url)[0])
    real = kind.put_file

    def counted(store: object, first: str, second: str, **options: object) -> None:
        if Path(first).name in FAILING:
            raise ConnectionError("the line is down")
        real(store, first, second, **options)
        names.append(Path(first).name)

    monkeypatch.setattr(kind, "put_file", counted)
    yield names
    FAILING.clear()


FAILING: set[str] = set()
"""Files that don't arrive."""


def test_files_lie_there_as_they_lie_here(output: Path, url: str):
    (output / ".metrics.jsonl.5f").write_text("half of")
    (output / ".step-00000001.partial").mkdir()
    (output / ".step-00000001.partial" / "x").touch()
    mirror(output, url).update()
    assert stored(url) == {"metrics.jsonl": b"{}\n", "log/rank_0.log": b"begun\n"}


def test_what_has_not_changed_travels_once(output: Path, url: str, transfers: list[str]):
    copy = mirror(output, url)
    copy.update()
    copy.update()
    assert sorted(transfers) == ["metrics.jsonl", "rank_0.log"]
    with (output / "metrics.jsonl").open("a") as file:
        file.write("{}\n")
    os.utime(output / "log/rank_0.log", ns=(1, 1))
    (output / "report.html").write_text("<html>")
    copy.update()
    assert sorted(transfers[2:]) == ["metrics.jsonl", "rank_0.log", "report.html"]
    assert stored(url)["metrics.jsonl"] == b"{}\n{}\n"


def test_what_is_deleted_here_stays_there(output: Path, url: str):
    copy = mirror(output, url)
    copy.update()
    (output / "metrics.jsonl").unlink()
    copy.update()
    assert "metrics.jsonl" in stored(url)


def test_checkpoints_lie_where_uploads_lie_and_travel_once(output: Path, url: str, transfers: list[str]):
    for step in (1, 2):
        save_step(output, step)
    copy = mirror(output, url)
    copy.update()
    assert remote.latest(url) == f"{url}/step-00000002"
    assert {name for name in stored(url) if "checkpoint" in name} == set()
    manifest = output / "checkpoint/step-00000001/manifest.json"
    assert stored(url)["step-00000001/manifest.json"] == manifest.read_bytes()
    assert transfers.count("manifest.json") == 2
    save_step(output, 3)
    del transfers[:]
    copy.update()
    assert transfers.count("manifest.json") == 1
    assert transfers[-1] == "manifest.json"
    assert remote.latest(url) == f"{url}/step-00000003"


def test_a_checkpoint_that_was_saved_again_travels_again(output: Path, url: str):
    copy = mirror(output, url)
    save_step(output, 1)
    copy.update()
    shutil.rmtree(output / "checkpoint")
    again = save_step(output, 1, value=2.0)
    copy.update()
    assert stored(url)["step-00000001/manifest.json"] == (again / "manifest.json").read_bytes()


def test_incomplete_and_damaged_checkpoints_do_not_travel(output: Path, url: str):
    (save_step(output, 1) / "manifest.json").unlink()
    damaged = save_step(output, 2) / "model-00001-of-00001.safetensors"
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(OSError, match=r"step-00000002: .*has other content.*is not uploaded"):
        mirror(output, url).update()
    assert files_in(url) == {"metrics.jsonl", "log/rank_0.log"}


def test_other_checkpoints_lie_where_they_lie_here(output: Path, url: str):
    save(output / "base-1", 0)
    (output / "profile").mkdir()
    (output / "profile" / "manifest.json").write_text("of another program")
    mirror(output, url, keep_last=True).update()
    assert files_in(url, "base-1") == {f"base-1/{path.name}" for path in (output / "base-1").iterdir()}
    assert stored(url)["profile/manifest.json"] == b"of another program"


def test_the_newest_alone_is_kept(output: Path, url: str, transfers: list[str]):
    copy = mirror(output, url, keep_last=True)
    for step in (1, 2):
        save_step(output, step)
    copy.update()
    assert files_in(url, "step-00000001") == set()
    save_step(output, 3)
    FAILING.add("manifest.json")
    with pytest.raises(OSError, match="step-00000003: the line is down"):
        copy.update()
    # The newer one is not complete.
    assert remote.latest(url) == f"{url}/step-00000002"
    FAILING.clear()
    copy.update()
    assert remote.latest(url) == f"{url}/step-00000003"
    assert files_in(url, "step-00000002") == set()


def test_all_are_kept_where_that_is_asked_for(output: Path, url: str):
    copy = mirror(output, url)
    for step in (1, 2):
        save_step(output, step)
        copy.update()
    assert {name.partition("/")[0] for name in files_in(url, "step")} == {"step-00000001", "step-00000002"}


def test_a_new_start_deletes_what_the_run_uploaded_before(output: Path, url: str):
    save_step(output, 1)
    mirror(output, url, keep_last=True).update()
    copy = mirror(output, url, keep_last=True)
    save_step(output, 2)
    shutil.rmtree(output / "checkpoint" / step_name(1))
    copy.update()
    assert {name.partition("/")[0] for name in files_in(url, "step")} == {"step-00000002"}


def test_what_others_uploaded_is_never_deleted(output: Path, url: str, tmp_path: Path):
    """Another checkpoint of the same name, one that this run doesn't know, and a file in one that is deleted."""
    for step in (1, 3):
        remote.upload(save_step(tmp_path / "other", step, value=9.0), url)
    save_step(output, 1)
    save_step(output, 2)
    copy = mirror(output, url, keep_last=True)
    copy.update()
    fsspec.core.url_to_fs(url)[0].pipe_file(f"{fsspec.core.url_to_fs(url)[1]}/step-00000002/notes.txt", b"mine")
    save_step(output, 4)
    copy.update()
    assert "step-00000001/manifest.json" in stored(url)
    assert "step-00000003/manifest.json" in stored(url)
    assert files_in(url, "step-00000002") == {"step-00000002/notes.txt"}
    assert "step-00000004/manifest.json" in stored(url)


def test_a_checkpoint_that_goes_while_it_travels_leaves_nothing(
    output: Path, url: str, monkeypatch: pytest.MonkeyPatch
):
    folder = save_step(output, 1)
    kind = type(fsspec.core.url_to_fs(url)[0])
    real = kind.put_file

    def put_and_delete(store: object, first: str, second: str, **options: object) -> None:
        real(store, first, second, **options)
        if Path(first).parent == folder:
            shutil.rmtree(folder)

    monkeypatch.setattr(kind, "put_file", put_and_delete)
    mirror(output, url).update()
    assert files_in(url, "step") == set()


def test_what_fails_is_tried_again_and_holds_nothing_else_up(output: Path, url: str, transfers: list[str]):
    save_step(output, 1)
    copy = mirror(output, url)
    FAILING.update({"metrics.jsonl", "rank_0.log"})
    with pytest.raises(OSError, match=r"metrics\.jsonl: the line is down, and 1 more"):
        copy.update()
    assert remote.latest(url) == f"{url}/step-00000001"
    FAILING.clear()
    copy.update()
    assert {"metrics.jsonl", "log/rank_0.log"} < set(stored(url))


def test_some_names_are_left_out(output: Path, url: str):
    save_step(output / "earlier-1", 5)
    (output / "log" / "earlier-1").write_text("kept")
    mirror(output, url, leave_out=[f"{output.resolve()}/earlier-*"]).update()
    assert files_in(url) == {"metrics.jsonl", "log/rank_0.log", "log/earlier-1"}


def test_checkpoints_outside_the_source_are_left_out(output: Path, url: str):
    save_step(output, 1)
    Mirror(output / "log", url, checkpoints=output / "checkpoint", keep_last=True).update()
    assert stored(url) == {"rank_0.log": b"begun\n"}


def test_the_source_may_be_the_folder_of_checkpoints(output: Path, url: str):
    for step in (1, 2):
        save_step(output, step)
    Mirror(output / "checkpoint", url, checkpoints=output / "checkpoint", keep_last=True).update()
    assert {name.partition("/")[0] for name in stored(url)} == {"step-00000002"}


def test_a_copy_within_its_source_does_not_grow(output: Path):
    copy = mirror(output, f"file://{output.resolve()}/copy")
    copy.update()
    copy.update()
    assert sorted(path.name for path in (output / "copy").rglob("*")) == ["log", "metrics.jsonl", "rank_0.log"]


def test_a_source_that_is_missing_is_named(tmp_path: Path, url: str):
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: .*nowhere"):
        mirror(tmp_path / "nowhere", url).update()


def test_an_address_must_be_one(output: Path):
    with pytest.raises(UserError, match="'output/copy' is not a URL"):
        mirror(output, "output/copy")
