import json
import shutil
import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config.problems import UserError
from mf_data.indexed import check
from mf_data.indexed.files import IndexedFile, smallest_dtype
from mf_data.indexed.writer import IndexedWriter

DOCUMENTS = st.lists(
    st.lists(st.lists(st.integers(0, 120), max_size=5), min_size=1, max_size=3), max_size=6
)  # documents of sequences of ids


def expected_of(data, name: str) -> dict:
    return json.loads((data / "indexed" / "expected.json").read_text())[name]


@pytest.mark.golden
@pytest.mark.parametrize("name", ["good_uint16", "good_int32"])
def test_files_of_an_independent_writer_are_read(data, name):
    expected = expected_of(data, name)
    file = IndexedFile(data / "indexed" / name)
    assert file.dtype == np.dtype(expected["dtype"])
    assert [file[i].tolist() for i in range(len(file))] == expected["sequences"]
    assert file.documents.tolist() == expected["document_indices"]


@pytest.mark.golden
@pytest.mark.parametrize("name", ["good_uint16", "good_int32"])
def test_files_are_written_byte_for_byte_alike(data, tmp_path, name):
    expected = expected_of(data, name)
    ends = expected["document_indices"]
    with IndexedWriter(tmp_path / "own", np.dtype(expected["dtype"])) as writer:
        for start, stop in pairwise(ends):
            writer.add_document(expected["sequences"][start:stop])
    for suffix in (".bin", ".idx"):
        assert (tmp_path / f"own{suffix}").read_bytes() == (data / "indexed" / f"{name}{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("name", "file", "message"),
    [
        ("bad_magic", ".idx", "is no index"),
        ("bad_version", ".idx", "has version 2. Allowed: 1"),
        ("bad_dtype", ".idx", "type code 99 is unknown"),
        ("idx_truncated", ".idx", "has 111 bytes, but 4 sequences and 5 document indices take 122"),
        ("bin_truncated", ".bin", "has 29 bytes, but .* tells of 32 bytes of uint16"),
        ("idx_empty", ".idx", "has 0 bytes, too few for an index"),
        ("count_huge", ".idx", "has 122 bytes, but 1125899906842624 sequences"),
        ("pointer_past_end", ".idx", "sequence 3 begins at byte 1000000"),
        ("dtype_mismatch", ".idx", "sequence 1 begins at byte 8, .* ids of 4 bytes"),
    ],
)
def test_damaged_pairs_are_refused_when_they_are_opened(data, name, file, message):
    with pytest.raises(UserError, match=rf"{name}\{file}: .*{message}"):
        IndexedFile(data / "indexed" / name)


def changed(data, tmp_path, offset: int, content: bytes):
    """A good pair with some bytes of its index replaced."""
    for suffix in (".bin", ".idx"):
        shutil.copyfile(data / "indexed" / f"good_uint16{suffix}", tmp_path / f"own{suffix}")
    index = bytearray((tmp_path / "own.idx").read_bytes())
    index[offset : offset + len(content)] = content
    (tmp_path / "own.idx").write_bytes(index)
    return tmp_path / "own"


@pytest.mark.parametrize(
    ("offset", "content", "message"),
    [
        (38, struct.pack("<i", -3), "sequence 1 has length -3"),
        (34 + 12, struct.pack("<i", 6), r"own\.bin: has 32 bytes, but .* 30 bytes"),
        (82, struct.pack("<q", 1), "do not run from 0 to 4"),
        (82 + 32, struct.pack("<q", 3), "do not run from 0 to 4"),
        (82 + 16, struct.pack("<q", 0), "not in order"),
    ],
)
def test_an_index_that_contradicts_itself_is_refused(data, tmp_path, offset, content, message):
    with pytest.raises(UserError, match=message):
        IndexedFile(changed(data, tmp_path, offset, content))


def test_an_index_with_modes_is_refused_as_such(data, tmp_path):
    prefix = changed(data, tmp_path, 0, b"M")
    with (tmp_path / "own.idx").open("ab") as file:
        file.write(bytes([0, 1, 0, 1]))
    with pytest.raises(UserError, match=r"own\.idx: holds a mode for each sequence \(a multimodal"):
        IndexedFile(prefix)


def test_a_missing_file_is_named(data, tmp_path):
    prefix = changed(data, tmp_path, 0, b"M")
    (tmp_path / "own.bin").unlink()
    with pytest.raises(UserError, match=r"own\.bin: no such file. Allowed: a pair"):
        IndexedFile(prefix)


@pytest.mark.property
@given(documents=DOCUMENTS, dtype=st.sampled_from(["u1", "i1", "i2", "i4", "i8", "f4", "f8", "u2"]))
def test_what_is_written_is_read(tmp_path_factory, documents, dtype):
    prefix = tmp_path_factory.mktemp("pair") / "own"
    with IndexedWriter(prefix, np.dtype(dtype)) as writer:
        for document in documents:
            writer.add_document(document)
    file = IndexedFile(prefix)
    sequences = [sequence for document in documents for sequence in document]
    assert file.dtype == np.dtype(dtype)
    assert [file[i].tolist() for i in range(len(file))] == sequences
    assert file.documents.tolist() == np.cumsum([0, *map(len, documents)]).tolist()


@pytest.mark.parametrize(
    ("code", "letter"), [(1, "B"), (2, "b"), (3, "h"), (4, "i"), (5, "q"), (6, "f"), (7, "d"), (8, "H")]
)
def test_every_type_is_written_as_the_form_says(tmp_path, code, letter):
    """By hand: sequences of 2, 3 and 1 ids in two documents."""
    dtype = np.dtype(letter)
    with IndexedWriter(tmp_path / "own", dtype) as writer:
        writer.add_document([[1, 2], [3, 4, 5]])
        writer.add_document([[6]])
    size = struct.calcsize(letter)
    index = struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, code, 3, 3)
    index += struct.pack("<3i3q3q", 2, 3, 1, 0, 2 * size, 5 * size, 0, 2, 3)
    assert (tmp_path / "own.idx").read_bytes() == index
    assert (tmp_path / "own.bin").read_bytes() == struct.pack(f"<6{letter}", *range(1, 7))


def test_documents_are_added_all_at_once_or_one_by_one(tmp_path):
    with IndexedWriter(tmp_path / "one", np.uint16) as writer:
        for document in ([1, 2, 3], [4], [5, 6]):
            writer.add_document([document])
    with IndexedWriter(tmp_path / "all", np.uint16) as writer:
        writer.add_documents(np.array([1, 2, 3, 4]), np.array([3, 1]))
        writer.add_documents(np.array([5, 6]), np.array([2]))
    for suffix in (".bin", ".idx"):
        assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"all{suffix}").read_bytes()


def test_an_id_that_does_not_fit_is_refused_and_nothing_is_left(tmp_path):
    with (
        pytest.raises(UserError, match="id 65536 of sequence 1 does not fit uint16"),
        IndexedWriter(tmp_path / "own", np.uint16) as writer,
    ):
        writer.add_document([[65535]])
        writer.add_document([[3, 65536]])
    assert list(tmp_path.iterdir()) == []


def test_a_pair_that_is_there_is_kept(data, tmp_path):
    prefix = changed(data, tmp_path, 0, b"M")
    with pytest.raises(UserError, match=r"own\.idx exists already"):
        IndexedWriter(prefix, np.uint16)


def test_a_type_without_a_code_is_refused(tmp_path):
    with pytest.raises(UserError, match="uint32 ids have no place"):
        IndexedWriter(tmp_path / "own", np.uint32)


def test_small_vocabularies_take_two_bytes_an_id():
    assert (smallest_dtype(65499), smallest_dtype(65500)) == (np.uint16, np.int32)


@pytest.mark.parametrize("entries", [1, 2, 3])
def test_an_index_is_checked_in_parts_as_in_one(data, monkeypatch, entries):
    monkeypatch.setattr(check, "_ENTRIES_AT_ONCE", entries)
    file = IndexedFile(data / "indexed" / "good_uint16")
    assert (file.lengths_are(4), len(file)) == (False, 4)
    for name in ("pointer_past_end", "dtype_mismatch"):
        with pytest.raises(UserError, match="begins at byte"):
            IndexedFile(data / "indexed" / name)


@pytest.mark.property
@given(changes=st.lists(st.tuples(st.integers(0, 121), st.integers(0, 255)), min_size=1, max_size=3))
def test_whatever_an_index_holds_it_is_read_or_refused(data, tmp_path_factory, changes):
    folder = tmp_path_factory.mktemp("fuzz")
    prefix = changed(data, folder, 0, b"M")
    content = bytearray((folder / "own.idx").read_bytes())
    for place, byte in changes:
        content[place] = byte
    (folder / "own.idx").write_bytes(content)
    try:
        file = IndexedFile(prefix)
    except UserError as error:
        assert "own." in str(error)
    else:
        assert sum(len(file[i]) for i in range(len(file))) == len(file.tokens) == 32 // file.dtype.itemsize
