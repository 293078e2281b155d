"""A file of rows that is cut off, deleted or replaced while it is read: looking behind its end would end all."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mf_data.indexed.files import IndexedFile
from mf_data.indexed.rows import IndexedRows
from mf_data.indexed.writer import IndexedWriter
from mf_data.mapped_file import MappedFile
from mf_data.prepared.mind_record_files import MindRecordFile
from mf_data.prepared.mind_record_writer import MindRecordWriter
from mf_data.prepared.tf_record_files import TfRecordFile

Read = Callable[[], Any]


def mind_record(folder: Path, data: Path) -> tuple[Path, Read]:
    path = folder / "a.mindrecord"
    with MindRecordWriter(path, ["input_ids"]) as writer:
        for row in range(4):
            writer.add({"input_ids": np.arange(row, row + 4)})
    file = MindRecordFile(path)
    return path, lambda: file.row(3)


def tf_record(folder: Path, data: Path) -> tuple[Path, Read]:
    path = folder / "rows.tfrecord"
    path.write_bytes((data / "rows.tfrecord").read_bytes())
    file = TfRecordFile(path)
    return path, lambda: file.row(0)


def indexed(folder: Path, data: Path) -> tuple[Path, Read]:
    with IndexedWriter(folder / "corpus", np.dtype(np.int32)) as writer:
        writer.add_document([range(5000)])
    rows = IndexedRows(IndexedFile(folder / "corpus"), 9)
    return folder / "corpus.bin", lambda: rows[np.array([500])]


@pytest.fixture(params=[mind_record, tf_record, indexed], ids=lambda make: make.__name__)
def opened(request: pytest.FixtureRequest, tmp_path: Path, data: Path) -> tuple[Path, Read]:
    """The file, and what reads a row of it."""
    found: tuple[Path, Read] = request.param(tmp_path, data)
    return found


def test_a_file_that_was_cut_off_is_named(opened: tuple[Path, Read]):
    path, read = opened
    read()
    size = path.stat().st_size
    os.truncate(path, 10)
    with pytest.raises(
        OSError, match=rf"was cut off while it is read: it had {size} bytes, and has 10: '.*{path.name}'"
    ):
        read()


def test_a_file_that_was_deleted_or_replaced_stays_as_it_was_opened(opened: tuple[Path, Read]):
    path, read = opened
    before = read()
    path.unlink()
    np.testing.assert_equal(read(), before)
    path.write_bytes(b"shorter")
    np.testing.assert_equal(read(), before)


def test_an_empty_file_has_no_bytes(tmp_path: Path):
    (tmp_path / "empty").write_bytes(b"")
    mapped = MappedFile(tmp_path / "empty")
    mapped.check()
    assert mapped.content.shape == (0,)
