import json
import lzma
import sqlite3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config.problems import UserError
from mf_data.prepared.mind_record_files import MindRecordFile
from mf_data.prepared.mind_record_writer import MindRecordWriter
from mf_data.prepared.packed_integers import pack_integers, unpack_integers

SMALL = {"header_bytes": 1 << 14, "page_bytes": 1 << 15}


@pytest.fixture
def stored(data, tmp_path):
    """Unpacks a file that MindSpore wrote."""

    def unpack(name: str):
        path = tmp_path / name
        path.write_bytes(lzma.decompress((data / "mind_record" / f"{name}.xz").read_bytes()))
        return path

    return unpack


@pytest.mark.golden
def test_columns_of_a_file_of_mindspore_are_read(stored):
    file = MindRecordFile(stored("two_columns.mindrecord"))
    assert file.columns == ("input_ids", "labels")
    assert file.shards == ("a.mindrecord",)
    assert len(file) == 5
    for i in range(5):
        found = {name: values.tolist() for name, values in file.row(i).items()}
        assert found == {"input_ids": [i, 300, 70000, -1, 5 * i], "labels": [-100, 2, i]}


@pytest.mark.golden
def test_pages_of_a_file_of_mindspore_are_read_in_order(stored):
    file = MindRecordFile(stored("several_pages.mindrecord"))
    assert len(file) == 20
    for i in range(20):
        np.testing.assert_array_equal(file.row(i)["input_ids"], np.arange(i, i + 2000))


@pytest.mark.golden
def test_pages_are_written_byte_for_byte_as_mindspore_writes_them(stored, tmp_path):
    with MindRecordWriter(tmp_path / "own.mindrecord", ["input_ids", "labels"], **SMALL) as writer:
        for i in range(5):
            writer.add({"input_ids": np.array([i, 300, 70000, -1, 5 * i]), "labels": np.array([-100, 2, i])})
    own = (tmp_path / "own.mindrecord").read_bytes()
    theirs = stored("two_columns.mindrecord").read_bytes()
    assert own[1 << 14 :] == theirs[1 << 14 :]
    headers = [json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]) for content in (own, theirs)]
    for header in headers:
        header["shard_addresses"], header["schema"][0]["desc"] = [], ""
    assert headers[0] == headers[1]
    rows = sqlite3.connect(tmp_path / "own.mindrecord.db").execute("SELECT * FROM INDEXES ORDER BY ROW_ID").fetchall()
    # What MindSpore's index of that file holds.
    assert rows == [(i, 1, 13 * i, 13 * i + 13, 0, 0, 47 * i, 47 * i + 47) for i in range(5)]


@pytest.mark.golden
def test_the_header_of_several_pages_is_that_of_mindspore(tmp_path):
    with MindRecordWriter(tmp_path / "own.mindrecord", ["input_ids"], **SMALL) as writer:
        for i in range(20):
            writer.add({"input_ids": np.arange(i, i + 2000)})
    content = (tmp_path / "own.mindrecord").read_bytes()
    pages = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["page"]
    # MindSpore's pages for the same rows, written in one go.
    found = [(p["page_id"], p["page_type"], p["page_size"], p["start_row_id"], p["end_row_id"]) for p in pages]
    assert found == [
        (0, "BLOB_DATA", 30709, 0, 7),
        (1, "BLOB_DATA", 30758, 7, 14),
        (2, "BLOB_DATA", 26403, 14, 20),
        (3, "RAW_DATA", 260, 0, 0),
    ]
    groups = [{"id": 0, "offset": 0}, {"id": 1, "offset": 91}, {"id": 2, "offset": 182}]
    assert pages[3]["row_group_ids"] == groups
    assert len(content) == (1 << 14) + 3 * (1 << 15) + 260
    rows = sqlite3.connect(tmp_path / "own.mindrecord.db").execute("SELECT * FROM INDEXES ORDER BY ROW_ID").fetchall()
    assert rows[7] == (7, 3, 91, 104, 1, 1, 0, 4391)
    assert rows[19] == (19, 3, 247, 260, 2, 2, 22000, 26403)


def test_mindspore_reads_what_is_written(tmp_path):
    dataset = pytest.importorskip("mindspore.dataset")
    path = tmp_path / "own.mindrecord"
    rows = [{"input_ids": np.arange(n, n + 2000), "labels": np.array([-100, n])} for n in range(20)]
    with MindRecordWriter(path, ["input_ids", "labels"], **SMALL) as writer:
        for row in rows:
            writer.add(row)
    found = list(dataset.MindDataset(str(path), shuffle=False).create_dict_iterator(num_epochs=1, output_numpy=True))
    assert len(found) == len(rows)
    for one, wanted in zip(found, rows, strict=True):
        assert one["input_ids"].dtype == np.int32
        assert {name: values.tolist() for name, values in one.items()} == {n: v.tolist() for n, v in wanted.items()}


@pytest.mark.property
@given(values=st.lists(st.one_of(st.integers(-200, 200), st.integers(-(2**63), 2**63 - 1)), max_size=40))
def test_integers_are_unpacked_as_they_were(values):
    packed = pack_integers(np.array(values, np.int64))
    assert unpack_integers(np.frombuffer(packed, np.uint8)).tolist() == values


@pytest.mark.parametrize(
    ("value", "code", "content"),
    [
        (127, 0, "7f"),
        (-128, 0, "80"),
        (128, 1, "8000"),
        (-129, 1, "7fff"),
        (32768, 2, "00800000"),
        (1 << 31, 3, "0000008000000000"),
    ],
)
def test_an_integer_takes_as_few_bytes_as_it_needs(value, code, content):
    assert pack_integers(np.array([0, value])).hex() == f"00000002{code << 4:02x}00{content}"


@pytest.mark.parametrize("content", ["", "00000002", "0000000210", "000000021000ff", "0000000200000000", "ffffffff00"])
def test_bytes_that_are_no_packed_integers_are_refused(content):
    if content == "":
        assert unpack_integers(np.zeros(0, np.uint8)).tolist() == []
        return
    with pytest.raises(ValueError, match=r"are not .* packed integers"):
        unpack_integers(np.frombuffer(bytes.fromhex(content), np.uint8))


@pytest.mark.property
@given(
    lengths=st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 9)), min_size=1, max_size=30),
    columns=st.sampled_from([["input_ids"], ["input_ids", "labels"]]),
)
def test_what_is_written_is_read(tmp_path_factory, lengths, columns):
    rows = [
        {name: np.arange(length, dtype=np.int32) * (n - 100) for name, length in zip(columns, pair, strict=False)}
        for n, pair in enumerate(lengths)
    ]
    path = tmp_path_factory.mktemp("records") / "own.mindrecord"
    with MindRecordWriter(path, columns, **SMALL) as writer:
        for row in rows:
            writer.add(row)
    file = MindRecordFile(path)
    assert len(file) == len(rows)
    for number, row in enumerate(rows):
        found = file.row(number)
        assert {name: values.tolist() for name, values in found.items()} == {n: v.tolist() for n, v in row.items()}


def test_nothing_is_left_after_a_failure(tmp_path):
    with pytest.raises(UserError, match="there are no rows to write"), MindRecordWriter(tmp_path / "a", ["x"]):
        pass
    with (
        pytest.raises(UserError, match=r"a row of .* exceeds a page"),
        MindRecordWriter(tmp_path / "a", ["x"], **SMALL) as writer,
    ):
        writer.add({"x": np.full(20_000, 1 << 20)})
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a.db").write_text("here")
    with pytest.raises(UserError, match=r"a\.db exists already"):
        MindRecordWriter(tmp_path / "a", ["x"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content, header: content[:-40_000], "a page reaches to byte"),
        (lambda content, header: b"text", "does not begin with a header"),
        (lambda content, header: (1 << 62).to_bytes(8, "little") + content[8:], "does not begin with a header"),
        (lambda content, header: content.replace(b'"3.0"', b'"9.9"'), "has version 9.9. Allowed: 3.0"),
        (lambda content, header: content.replace(b'"page"', b'"pago"'), "its header can't be used .'page'"),
        (
            lambda content, header: content.replace(b'"end_row_id":5', b'"end_row_id":6'),
            "page 0 does not hold the rows",
        ),
        (
            lambda content, header: content[:header] + b"\xff" * 8 + content[header + 8 :],
            "page 0 does not hold the rows",
        ),
        (lambda content, header: content.replace(b'"int32"', b'"bytes"'), "holds no integer arrays"),
    ],
)
def test_damaged_files_are_refused_when_they_are_opened(stored, change, message):
    path = stored("two_columns.mindrecord")
    path.write_bytes(change(path.read_bytes(), 1 << 14))
    with pytest.raises(UserError, match=rf"two_columns\.mindrecord: .*{message}"):
        MindRecordFile(path)


def test_a_damaged_row_is_named(stored):
    path = stored("two_columns.mindrecord")
    content = bytearray(path.read_bytes())
    content[(1 << 14) + 47 + 8 + 8 + 4] = 0  # The bits of the second row's first column.
    path.write_bytes(content)
    file = MindRecordFile(path)
    assert file.row(0)["labels"].tolist() == [-100, 2, 0]
    with pytest.raises(UserError, match=r"row 1 is damaged \(15 bytes are not 5 packed integers\)"):
        file.row(1)


@pytest.mark.property
@given(changes=st.lists(st.tuples(st.integers(0, 700), st.binary(min_size=1, max_size=3)), min_size=1, max_size=3))
def test_whatever_the_header_holds_a_file_is_read_or_refused(data, tmp_path_factory, changes):
    content = bytearray(lzma.decompress((data / "mind_record" / "two_columns.mindrecord.xz").read_bytes()))
    for place, replacement in changes:
        content[place : place + len(replacement)] = replacement
    path = tmp_path_factory.mktemp("fuzz") / "a.mindrecord"
    path.write_bytes(content)
    try:
        file = MindRecordFile(path)
        for row in range(len(file)):
            file.row(row)
    except UserError as error:
        assert "a.mindrecord: " in str(error)
