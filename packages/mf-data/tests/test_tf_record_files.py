"""TFRecord files that are made here byte by byte; MindSpore's own reader reads the golden one equally."""

import gzip
import json
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config.problems import UserError
from mf_data.datasets.causal_language_model import CausalLanguageModelDataset
from mf_data.loaders.tf_record import TFRecordDataset
from mf_data.opening import open_dataset
from mf_data.prepared.crc32c import masked_crc32c
from mf_data.prepared.protobuf import varints
from mf_data.prepared.tf_record_files import TfRecordFile


def varint(number: int) -> bytes:
    number %= 2**64
    digits = []
    while number >= 0x80:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])


def message(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def example(columns: dict[str, list[int]], packed: bool = True) -> bytes:
    entries = b""
    for name, values in columns.items():
        numbers = b"".join(map(varint, values)) if packed else b"".join(varint(1 << 3) + varint(v) for v in values)
        feature = message(3, message(1, numbers) if packed else numbers)
        entries += message(1, message(1, name.encode()) + message(2, feature))
    # A list of floats and one of bytes, which are no ids.
    entries += message(1, message(1, b"weight") + message(2, message(2, message(1, struct.pack("<f", 0.5)))))
    entries += message(1, message(1, b"name") + message(2, message(1, message(1, b"a text"))))
    return message(1, entries)


def checksum(content: bytes) -> bytes:
    return struct.pack("<I", masked_crc32c(np.frombuffer(content, np.uint8)))


def record(content: bytes) -> bytes:
    length = struct.pack("<Q", len(content))
    return length + checksum(length) + content + checksum(content)


ROWS = [
    {"input_ids": [5, 300, 70, 899, 2], "labels": [-100, -100, 70, 899, 2]},
    {"input_ids": [1, 2, 3, 4, 5], "labels": [1, -100, 3, 4, -100]},
]
CONTENT = b"".join(record(example(row, packed)) for row, packed in zip(ROWS, (True, False), strict=True))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows.tfrecord"
    path.write_bytes(CONTENT)
    return path


@pytest.mark.golden
def test_a_file_that_mindspore_reads(data):
    file = TfRecordFile(data / "rows.tfrecord")
    assert [file.row(number)["input_ids"].tolist() for number in range(len(file))] == [[5, 300, 70], [1, 2, 3, 4]]


def test_lists_of_integers_are_the_columns(path):
    file = TfRecordFile(path)
    assert file.columns == ("input_ids", "labels")
    assert [{name: ids.tolist() for name, ids in file.row(n).items()} for n in range(len(file))] == ROWS


@pytest.mark.parametrize(("name", "compress"), [("GZIP", gzip.compress), ("ZLIB", zlib.compress)])
def test_compressed_files(tmp_path, name, compress):
    path = tmp_path / "rows.tfrecord"
    path.write_bytes(compress(CONTENT))
    assert TfRecordFile(path, name).row(1)["labels"].tolist() == ROWS[1]["labels"]
    with pytest.raises(UserError, match=r"record 0 does not begin with its length. The file is damaged, compressed"):
        TfRecordFile(path)
    path.write_bytes(compress(CONTENT)[:-12])
    with pytest.raises(UserError, match=f"can't be decompressed as {name}"):
        TfRecordFile(path, name)


@pytest.mark.property
@given(place=st.integers(0, len(CONTENT) - 1), change=st.integers(1, 255))
def test_a_changed_byte_is_noticed(tmp_path_factory, place, change):
    path = tmp_path_factory.mktemp("damaged") / "rows.tfrecord"
    damaged = bytearray(CONTENT)
    damaged[place] ^= change
    path.write_bytes(damaged)
    with pytest.raises(UserError, match=r"rows.tfrecord: record \d "):
        TfRecordFile(path).row(1)


@pytest.mark.property
@given(size=st.integers(1, len(CONTENT) - 1))
def test_a_cut_file_is_refused(tmp_path_factory, size):
    first = len(record(example(ROWS[0])))
    path = tmp_path_factory.mktemp("cut") / "rows.tfrecord"
    path.write_bytes(CONTENT[:size])
    if size == first:
        assert len(TfRecordFile(path)) == 1
        return
    with pytest.raises(UserError, match=r"ends within record [01]. The file was copied incompletely."):
        TfRecordFile(path)


@pytest.mark.property
@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_packed_numbers_of_any_size(numbers):
    packed = np.frombuffer(b"".join(map(varint, numbers)), np.uint8)
    assert varints(packed).tolist() == numbers
    if numbers:
        with pytest.raises(ValueError, match="a number is cut off"):
            varints(np.append(packed, np.uint8(0x80)))


def test_a_record_that_is_no_example_is_refused(tmp_path):
    path = tmp_path / "rows.tfrecord"
    path.write_bytes(record(b"\x0f\x01 no message"))
    with pytest.raises(UserError, match=r"record 0 is no tf.train.Example"):
        TfRecordFile(path)
    path.write_bytes(b"")
    with pytest.raises(UserError, match=r"holds no integer arrays"):
        TfRecordFile(path)


def test_rows_of_a_run(path, bpe_chat):
    loader = TFRecordDataset(dataset_dir=str(path.parent), shuffle=False)
    rows = open_dataset(loader, CausalLanguageModelDataset(), bpe_chat, seq_length=4)
    columns = rows[np.arange(2)]
    assert columns["input_ids"].tolist() == [row["input_ids"] for row in ROWS]
    assert columns["labels"].tolist() == [row["labels"] for row in ROWS]


def test_a_schema_names_the_columns(path, bpe_chat, tmp_path):
    for columns in ({"input_ids": {"type": "int64"}}, [{"name": "input_ids", "type": "int64"}]):
        schema = tmp_path / "schema.json"
        schema.write_text(json.dumps({"columns": columns}))
        loader = TFRecordDataset(dataset_files=str(path), schema=str(schema))
        rows = open_dataset(loader, CausalLanguageModelDataset(), bpe_chat, seq_length=4)
        assert rows[np.arange(1)]["labels"].tolist() == [ROWS[0]["input_ids"]]
    schema.write_text("{}")
    with pytest.raises(UserError, match=r"schema.json can't be read \('columns'\)"):
        open_dataset(loader, CausalLanguageModelDataset(), bpe_chat, seq_length=4)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "data_loader.dataset_dir: is missing"),
        ({"dataset_dir": "nowhere"}, "data_loader.dataset_dir: nowhere does not exist"),
        ({"dataset_dir": "."}, "data_loader.dataset_dir: . holds no TFRecord files"),
    ],
)
def test_missing_files_are_told(keys, message, tmp_path, monkeypatch, bpe_chat):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        open_dataset(TFRecordDataset(**keys), CausalLanguageModelDataset(), bpe_chat, seq_length=4)
