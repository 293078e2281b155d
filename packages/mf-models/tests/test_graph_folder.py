"""The folder of kept graphs: whole files or none, whatever happens while they are written."""

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mf_models.graph_cache import folder
from mf_models.graph_cache.folder import KeptFiles

CONTENT = bytes(range(256)) * 4


def names(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


def test_what_was_written_is_read(tmp_path: Path) -> None:
    kept = KeptFiles(tmp_path / "deep" / "graphs", 10_000)
    assert kept.read("key") is None
    kept.write("key", CONTENT)
    assert kept.read("key") == CONTENT
    assert KeptFiles(kept.folder, 10_000).read("key") == CONTENT
    assert kept.read("other") is None


@pytest.mark.parametrize("left", [0, 1, 31, 32, 500, len(CONTENT) + 31])
def test_a_file_that_was_cut_off_is_none(tmp_path: Path, caplog: pytest.LogCaptureFixture, left: int) -> None:
    kept = KeptFiles(tmp_path, 10_000)
    kept.write("key", CONTENT)
    os.truncate(tmp_path / "key", left)
    assert kept.read("key") is None
    assert names(tmp_path) == []
    assert "is damaged and is made anew" in caplog.text


def test_a_changed_byte_is_found(tmp_path: Path) -> None:
    kept = KeptFiles(tmp_path, 10_000)
    kept.write("key", CONTENT)
    changed = bytearray((tmp_path / "key").read_bytes())
    changed[700] ^= 1
    (tmp_path / "key").write_bytes(changed)
    assert kept.read("key") is None


def test_a_process_that_dies_while_it_writes_leaves_no_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def kill(*_: object) -> None:
        raise Killed

    kept = KeptFiles(tmp_path, 10_000)
    with monkeypatch.context() as dying, pytest.raises(Killed):
        dying.setattr(folder.Path, "replace", kill)
        # A process that is killed cleans nothing up.
        dying.setattr(folder.Path, "unlink", lambda *_, **__: None)
        kept.write("key", CONTENT)
    (rest,) = names(tmp_path)
    assert rest.startswith(".writing-")
    assert kept.read("key") is None
    kept.write("key", CONTENT)
    assert kept.read("key") == CONTENT


def test_many_may_write_at_once(tmp_path: Path) -> None:
    kept = KeptFiles(tmp_path, 100_000)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: kept.write("key", CONTENT), range(40)))
    assert names(tmp_path) == ["key"]
    assert kept.read("key") == CONTENT


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    kept = KeptFiles(tmp_path, 3 * (len(CONTENT) + 32))
    for number, key in enumerate("abc"):
        kept.write(key, CONTENT)
        os.utime(tmp_path / key, (number, number))
    assert kept.read("a") == CONTENT
    kept.write("d", CONTENT)
    assert names(tmp_path) == ["a", "c", "d"]


def test_what_is_larger_than_the_folder_may_be_is_not_kept(tmp_path: Path) -> None:
    kept = KeptFiles(tmp_path, 100)
    kept.write("key", CONTENT)
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    kept = KeptFiles(tmp_path / "file" / "graphs", 10_000)
    with caplog.at_level(logging.WARNING):
        kept.write("key", CONTENT)
    assert kept.read("key") is None
    assert "can't be written" in caplog.text
