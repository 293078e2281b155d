import os

import pytest

from mf_data.files import write_atomically


def test_a_file_is_replaced_as_a_whole(tmp_path):
    target = tmp_path / "deep" / "file"
    write_atomically(target, b"old")
    write_atomically(target, b"new")
    assert target.read_bytes() == b"new"
    assert [path.name for path in target.parent.iterdir()] == ["file"]


def test_a_failure_leaves_the_old_content_and_nothing_else(tmp_path, monkeypatch):
    target = tmp_path / "file"
    write_atomically(target, b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
