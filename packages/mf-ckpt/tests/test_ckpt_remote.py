"""Checkpoints travel to a store and back whole, on fsspec's file systems for memory and for local files."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import fsspec
import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from mf_ckpt import BackgroundSaver, Writer, remote, step_name, verify
from mf_ckpt import open as open_checkpoint
from mf_config.problems import UserError

PLACEHOLDER = "Please input obs url on AICC platform."
"""What published run configurations hold where a URL belongs."""


@pytest.fixture(params=["memory", "file"])
def root_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    yield "memory://bucket/run" if request.param == "memory" else f"file://{tmp_path}/store/run"
    MemoryFileSystem.store.clear()


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return save(tmp_path / "run", 5)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def save(root: Path, step: int, value: float = 1.0) -> Path:
    place = root / step_name(step)
    with Writer(place, step=step, shard_bytes=30_000) as writer:
        for name in ("a", "b"):
            writer.add(name, np.full((50, 100), value, np.float32))
        writer.add_optimizer("a.exp_avg", np.full(3, value, np.float32))
        writer.add_json("config.json", {"model_type": "llama"})
    return place


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def remote_names(url: str) -> set[str]:
    store, path = fsspec.core.url_to_fs(url)
    return {name.rpartition("/")[2] for name in store.find(path)}


class Transfers:
    """Counts what a file system transfers, and fails at one of the transfers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, url: str, method: str, fail_at: int | None = None):
        self.names: list[str] = []
        kind = type(fsspec.core.url_to_fs(url)[0])
        real = getattr(kind, method)

        def counted(store: object, first: str, second: str, **options: object) -> None:
            if len(self.names) + 1 == fail_at:
                raise ConnectionError("the line is down")
            real(store, first, second, **options)
            self.names.append((second if method == "put_file" else first).rpartition("/")[2])

        monkeypatch.setattr(kind, method, counted)


def test_a_checkpoint_comes_back_as_it_went(root_url: str, checkpoint: Path, cache: Path):
    url = remote.upload(checkpoint, root_url)
    assert url == f"{root_url}/step-00000005"
    place = remote.download(url, cache)
    assert place.name == "step-00000005"
    assert content(place) == content(checkpoint)
    assert verify(place) == []
    assert np.array_equal(open_checkpoint(place)["b"], np.ones((50, 100)))


def test_slashes_at_the_end_mean_nothing(root_url: str, checkpoint: Path, cache: Path):
    url = remote.upload(checkpoint, root_url + "/")
    assert url == f"{root_url}/step-00000005"
    assert remote.download(url + "/", cache) == remote.download(url, cache)


def test_the_manifest_arrives_last(root_url: str, checkpoint: Path, monkeypatch: pytest.MonkeyPatch):
    transfers = Transfers(monkeypatch, root_url, "put_file")
    remote.upload(checkpoint, root_url)
    assert sorted(transfers.names) == sorted(content(checkpoint))
    assert transfers.names[-1] == "manifest.json"


@pytest.mark.parametrize("fail_at", [1, 3, 6])
def test_an_interrupted_upload_is_no_checkpoint_and_can_be_repeated(
    root_url: str, checkpoint: Path, cache: Path, fail_at: int, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch, pytest.raises(ConnectionError):
        Transfers(patch, root_url, "put_file", fail_at)
        remote.upload(checkpoint, root_url)
    with pytest.raises(UserError, match=r"step-00000005: has no manifest\.json\. Allowed: the address of a complete"):
        remote.download(f"{root_url}/step-00000005", cache)
    assert remote.latest(root_url) is None
    url = remote.upload(checkpoint, root_url)
    assert content(remote.download(url, cache)) == content(checkpoint)


def test_the_same_checkpoint_travels_once(root_url: str, checkpoint: Path, monkeypatch: pytest.MonkeyPatch):
    remote.upload(checkpoint, root_url)
    transfers = Transfers(monkeypatch, root_url, "put_file")
    assert remote.upload(checkpoint, root_url) == f"{root_url}/step-00000005"
    assert transfers.names == []


def test_while_another_checkpoint_is_written_over_there_is_none(
    root_url: str, checkpoint: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    url = remote.upload(checkpoint, root_url)
    other = save(tmp_path / "other", 5, value=2.0)
    with monkeypatch.context() as patch, pytest.raises(ConnectionError):
        Transfers(patch, root_url, "put_file", fail_at=2)
        remote.upload(other, root_url)
    with pytest.raises(UserError, match=r"has no manifest\.json"):
        remote.download(url, cache)
    remote.upload(other, root_url)
    assert content(remote.download(url, cache)) == content(other)


def test_a_damaged_checkpoint_is_not_uploaded(root_url: str, checkpoint: Path):
    shard = checkpoint / "model-00001-of-00002.safetensors"
    damaged = bytearray(shard.read_bytes())
    damaged[-1] ^= 1
    shard.write_bytes(damaged)
    with pytest.raises(UserError, match=r"model-00001-of-00002\.safetensors: has other content .* is not uploaded"):
        remote.upload(checkpoint, root_url)
    (checkpoint / "manifest.json").unlink()
    with pytest.raises(UserError, match=r"step-00000005: has no manifest\.json\. Allowed: a complete checkpoint"):
        remote.upload(checkpoint, root_url)
    assert remote_names(root_url) == set()


def test_the_newest_complete_one_is_found(root_url: str, tmp_path: Path):
    assert remote.latest(root_url) is None
    for step in (200, 30, 123456789):
        remote.upload(save(tmp_path / "run", step), root_url)
    assert remote.latest(root_url) == f"{root_url}/step-123456789"
    store, path = fsspec.core.url_to_fs(root_url)
    store.rm_file(f"{path}/step-123456789/manifest.json")
    assert remote.latest(root_url) == f"{root_url}/step-00000200"


def test_a_second_download_transfers_nothing(
    root_url: str, checkpoint: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    url = remote.upload(checkpoint, root_url)
    first = remote.download(url, cache)
    transfers = Transfers(monkeypatch, root_url, "get_file")
    assert remote.download(url, cache) == first
    assert transfers.names == []


def test_an_interrupted_download_goes_on_with_the_next_file(
    root_url: str, checkpoint: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    url = remote.upload(checkpoint, root_url)
    with monkeypatch.context() as patch, pytest.raises(ConnectionError):
        before = Transfers(patch, root_url, "get_file", fail_at=4)
        remote.download(url, cache)
    (place,) = cache.glob("*/*")
    with pytest.raises(UserError, match=r"is no checkpoint|save was interrupted"):
        open_checkpoint(place)
    after = Transfers(monkeypatch, root_url, "get_file")
    assert content(remote.download(url, cache)) == content(checkpoint)
    assert len(before.names) == 3
    assert sorted(before.names + after.names) == sorted(set(content(checkpoint)) - {"manifest.json"})


def test_what_was_deleted_from_the_cache_is_transferred_again(
    root_url: str, checkpoint: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    url = remote.upload(checkpoint, root_url)
    place = remote.download(url, cache)
    (place / "config.json").unlink()
    shard = place / "model-00002-of-00002.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1])
    transfers = Transfers(monkeypatch, root_url, "get_file")
    assert content(remote.download(url, cache)) == content(checkpoint)
    assert sorted(transfers.names) == ["config.json", shard.name]


@pytest.mark.parametrize("length", [0, -1])
def test_a_file_that_arrives_changed_is_refused(root_url: str, checkpoint: Path, cache: Path, length: int):
    url = remote.upload(checkpoint, root_url)
    store, path = fsspec.core.url_to_fs(url)
    shard = f"{path}/model-00002-of-00002.safetensors"
    damaged = bytearray(store.cat_file(shard))
    damaged[-1] ^= 1
    store.pipe_file(shard, bytes(damaged[: len(damaged) + length]))
    with pytest.raises(UserError, match=r"model-00002-of-00002\.safetensors: arrived with other content"):
        remote.download(url, cache)
    assert [path.name for path in cache.rglob("*") if "00002-of" in path.name] == []
    assert list(cache.rglob("manifest.json")) == []


def test_a_manifest_that_leads_elsewhere_is_refused(root_url: str, checkpoint: Path, cache: Path, tmp_path: Path):
    url = remote.upload(checkpoint, root_url)
    store, path = fsspec.core.url_to_fs(url)
    for old, new in (("config.json", "../../../stolen"), ('"step": 5', '"step": 6')):
        manifest = (checkpoint / "manifest.json").read_text().replace(old, new)
        store.pipe_file(f"{path}/manifest.json", manifest.encode())
        with pytest.raises(UserError, match=r"step-00000005/manifest\.json: "):
            remote.download(url, cache)
    assert not list(tmp_path.rglob("stolen"))


def test_two_checkpoints_of_one_name_have_each_its_place(root_url: str, checkpoint: Path, cache: Path, tmp_path: Path):
    first = remote.download(remote.upload(checkpoint, root_url), cache)
    other = save(tmp_path / "other", 5, value=2.0)
    second = remote.download(remote.upload(other, f"{root_url}/other"), cache)
    assert (first.name, second.name) == (checkpoint.name, checkpoint.name)
    assert content(first) == content(checkpoint)
    assert content(second) == content(other)


def test_an_address_that_ends_with_no_plain_name(root_url: str, checkpoint: Path, cache: Path):
    odd = checkpoint.rename(checkpoint.with_name("..@1"))
    place = remote.download(remote.upload(odd, root_url), cache)
    assert place.name == "checkpoint"
    assert content(place) == content(odd)


def test_of_several_that_ask_one_transfers(
    root_url: str, checkpoint: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    url = remote.upload(checkpoint, root_url)
    transfers = Transfers(monkeypatch, root_url, "get_file")
    places: list[Path] = []
    askers = [threading.Thread(target=lambda: places.append(remote.download(url, cache))) for _ in range(4)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert len(places) == 4
    assert len(set(places)) == 1
    assert sorted(transfers.names) == sorted(set(content(checkpoint)) - {"manifest.json"})


def test_a_background_save_uploads_when_it_is_complete(root_url: str, tmp_path: Path, cache: Path):
    with BackgroundSaver() as saver:
        for step in (1, 2):
            place = tmp_path / step_name(step)
            with saver.save(place, step=step, then=lambda path: remote.upload(path, root_url)) as snapshot:
                snapshot.add("w", np.float32([step]))
    newest = remote.latest(root_url)
    assert newest is not None
    assert open_checkpoint(remote.download(newest, cache))["w"].tolist() == [2]


@pytest.mark.parametrize("text", [PLACEHOLDER, "output/run", "s3:", "s3:// bucket", "://bucket", "", "1s3://bucket"])
def test_what_is_no_url_is_named_with_its_key(text: str, checkpoint: Path, cache: Path):
    with pytest.raises(UserError) as caught:
        remote.check_url(text, "remote_save_url")
    assert str(caught.value) == (
        f"remote_save_url: {text!r} is not a URL. Allowed: a folder in a store, such as s3://bucket/folder."
    )
    for use in (lambda: remote.upload(checkpoint, text), lambda: remote.download(text, cache)):
        with pytest.raises(UserError, match="is not a URL"):
            use()


def test_a_url_that_can_be_reached_is_accepted(root_url: str):
    remote.check_url(root_url, "remote_save_url")


def test_an_unknown_protocol_is_named():
    with pytest.raises(UserError, match=r"^remote_save_url: obs://bucket/run: .*obs.*also speaks S3"):
        remote.check_url("obs://bucket/run", "remote_save_url")
    with pytest.raises(UserError, match=r"^remote_save_url: nothing://bucket: .*nothing.*a protocol that fsspec knows"):
        remote.check_url("nothing://bucket", "remote_save_url")


@pytest.mark.parametrize("missing", ["fsspec", "s3fs"])
def test_a_missing_package_is_named(missing: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setitem(sys.modules, f"{missing}.core", None)
    with pytest.raises(UserError, match=r"pip install 'mf-ckpt\[remote\]'" if missing == "fsspec" else "s3fs"):
        remote.check_url("s3://bucket/run", "remote_save_url")


def test_fsspec_is_imported_when_it_is_used():
    code = "import sys, mf_ckpt.cli, mf_ckpt.remote; print('fsspec' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
