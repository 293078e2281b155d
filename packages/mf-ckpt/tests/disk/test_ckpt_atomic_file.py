"""Single files that appear whole or not at all."""

import pytest

from mf_ckpt.disk.atomic_file import atomic_file


def test_a_file_takes_its_place_when_it_is_complete(tmp_path):
    place = tmp_path / "new" / "file"
    with atomic_file(place) as file:
        file.write(b"content")
        assert not place.exists()
    assert [(entry.name, entry.read_bytes()) for entry in place.parent.iterdir()] == [("file", b"content")]


def test_after_an_exception_what_was_there_stays(tmp_path):
    place = tmp_path / "file"
    place.write_bytes(b"former")
    with pytest.raises(KeyboardInterrupt), atomic_file(place) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("file", b"former")]
