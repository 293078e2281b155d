"""The checksum made while writing is the one of what can be read, whatever the sizes."""

import resource
from pathlib import Path

import pytest
from xxhash import xxh3_128_hexdigest

from mf_ckpt.store.fingerprints import Fingerprint, NewFile, copy_new, read_fingerprints, write_new

PIECE = 262_144
SIZES = [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 7]


def pattern(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


@pytest.mark.parametrize("size", SIZES)
def test_a_file_is_written_and_fingerprinted(tmp_path: Path, size: int):
    expected = Fingerprint(size, xxh3_128_hexdigest(pattern(size)))
    assert write_new(tmp_path / "a", pattern(size)) == expected
    assert (tmp_path / "a").read_bytes() == pattern(size)
    assert copy_new(tmp_path / "a", tmp_path / "b") == expected
    assert (tmp_path / "b").read_bytes() == pattern(size)
    assert read_fingerprints(tmp_path, [("a", 0), ("b", 0)]) == {"a": expected, "b": expected}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("head", [1, PIECE + 3])
def test_a_head_that_is_written_last_is_hashed_last(tmp_path: Path, head: int, size: int):
    data = pattern(size)
    with NewFile(tmp_path / "a", head) as file:
        for begin in range(0, size, 100_000):
            file.write(data[begin : begin + 100_000])
        found = file.finish(b"h" * head)
    assert found == Fingerprint(head + size, xxh3_128_hexdigest(data + b"h" * head), head)
    assert (tmp_path / "a").read_bytes() == b"h" * head + data
    assert read_fingerprints(tmp_path, [("a", head)]) == {"a": found}


@pytest.mark.parametrize("kept", [1, PIECE, PIECE + 1])
def test_the_start_of_a_file_is_gone_on_with(tmp_path: Path, kept: int):
    data = pattern(2 * PIECE)
    (tmp_path / "a").write_bytes(data[:kept] + b"lost")
    with NewFile(tmp_path / "a", kept_bytes=kept) as file:
        file.write(data[kept:])
        assert file.finish() == Fingerprint(len(data), xxh3_128_hexdigest(data))
    assert (tmp_path / "a").read_bytes() == data


def test_a_start_beyond_the_end_is_no_trouble(tmp_path: Path):
    found = write_new(tmp_path / "a", b"four")
    assert read_fingerprints(tmp_path, [("a", 100)]) == {"a": Fingerprint(4, found.checksum, 100)}


def test_nothing_is_written_over(tmp_path: Path):
    write_new(tmp_path / "a", b"old")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"


@pytest.mark.parametrize("limit", [1, 100])
def test_a_disk_that_takes_only_a_part_is_an_error(tmp_path: Path, limit: int):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_new(tmp_path / "a", bytes(101))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
