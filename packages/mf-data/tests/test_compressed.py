import gzip
import lzma
import sys
import types
import zlib

import pytest

from mf_config.problems import ConfigError, UserError
from mf_data.texts.compressed import lines_of, plain_suffix

CONTENT = "\ufeffone\ntwo\u2028still two\n\nlast, no line feed".encode()
LINES = [(1, b"one\n"), (2, "two\u2028still two\n".encode()), (3, b"\n"), (4, b"last, no line feed")]
LONG = b"".join(b"line %d, which goes on for a while\n" % number for number in range(50_000))


@pytest.fixture
def zstandard(monkeypatch):
    """A stand-in with the same interface on top of zlib: what is tested is how frames are joined, not the format."""
    module = types.ModuleType("zstandard")
    module.ZstdError = zlib.error
    module.ZstdDecompressor = lambda: types.SimpleNamespace(decompressobj=zlib.decompressobj)
    monkeypatch.setitem(sys.modules, "zstandard", module)


@pytest.mark.parametrize(
    ("suffix", "compress"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress), (".zst", zlib.compress)]
)
def test_lines_are_the_same_however_they_are_stored(tmp_path, zstandard, suffix, compress):
    file = tmp_path / f"a.txt{suffix}"
    file.write_bytes(compress(CONTENT))
    assert list(lines_of(file)) == LINES
    file.write_bytes(compress(LONG[:1_000_000]) + compress(LONG[1_000_000:]))
    assert b"".join(line for _, line in lines_of(file)) == LONG


@pytest.mark.parametrize(
    ("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress), (".zst", zlib.compress)]
)
@pytest.mark.parametrize("damage", ["cut", "another kind"])
def test_a_damaged_file_is_named(tmp_path, zstandard, suffix, compress, damage):
    file = tmp_path / f"a.txt{suffix}"
    content = compress(LONG)
    file.write_bytes(content[: len(content) // 2] if damage == "cut" else b"plain text\n")
    with pytest.raises(ConfigError, match=r"a\.txt\.\w+:\d+: can't be decompressed .* Allowed: a whole file"):
        list(lines_of(file))


def test_an_empty_file_has_no_lines(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"")
    assert list(lines_of(tmp_path / "a.txt")) == []


def test_zstd_asks_for_its_package(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(UserError, match=r"\.zst needs the package zstandard. Allowed: pip install 'mf-data\[zstd\]'"):
        list(lines_of(data / "two_lines.jsonl.zst"))


@pytest.mark.golden
def test_zstd_files_of_its_own_program_are_read(data):
    pytest.importorskip("zstandard")
    assert [line for _, line in lines_of(data / "two_lines.jsonl.zst")] == [
        b'{"text": "packed with zstd"}\n',
        b'{"text": "two"}\n',
    ]


def test_the_kind_of_a_file_is_told_without_its_compression(tmp_path):
    names = {"a.jsonl": ".jsonl", "a.jsonl.gz": ".jsonl", "a.b.txt.xz": ".txt", "a.gz": "", "a": ""}
    assert {name: plain_suffix(tmp_path / name) for name in names} == names
