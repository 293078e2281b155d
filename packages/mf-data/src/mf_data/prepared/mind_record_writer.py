"""Writes MindRecord files of integer arrays that MindSpore reads (see `mf_data.prepared.mind_record_files`)."""

import json
import os
import sqlite3
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_data.prepared.mind_record_files import BLOB_PAGE, COLUMN_LENGTH, RAW_PAGE, ROW_LENGTH, VERSION
from mf_data.prepared.packed_integers import pack_integers

HEADER_BYTES = 1 << 24
PAGE_BYTES = 1 << 25
"""Sizes that MindSpore's own writer has."""

_RAW_ROW = ROW_LENGTH.pack(5) + b"\x81\xa2id\x00"
"""What stands for a row without single numbers and texts: the message pack of {"id": 0} behind its length."""
_RAW_BYTES = len(_RAW_ROW)

_TABLE = """CREATE TABLE INDEXES(ROW_ID INT NOT NULL, PAGE_ID_RAW INT NOT NULL, PAGE_OFFSET_RAW INT NOT NULL,
PAGE_OFFSET_RAW_END INT NOT NULL, ROW_GROUP_ID INT NOT NULL, PAGE_ID_BLOB INT NOT NULL, PAGE_OFFSET_BLOB INT NOT NULL,
PAGE_OFFSET_BLOB_END INT NOT NULL, PRIMARY KEY(ROW_ID))"""


class MindRecordWriter:
    """Writes one file and its index (`.db` beside it); use it as a context manager.

    Both are written beside their places and moved there when the context ends without an exception; the index comes
    first, so that a file is never without it. After an exception nothing is left.
    """

    def __init__(
        self,
        path: str | Path,
        columns: Sequence[str],
        *,
        header_bytes: int = HEADER_BYTES,
        page_bytes: int = PAGE_BYTES,
    ):
        """Takes the target and the names of the int32 arrays that each row has.

        Args:
            path: the file; its name should end in `.mindrecord`.
            columns: names of the arrays.
            header_bytes: room for the header, from 16 KiB to 128 MiB.
            page_bytes: size of a page, from 32 KiB to 256 MiB; a row must fit into one.
        Raises:
            UserError: there is a file in that place already.
        """
        self._path = Path(path)
        self._index = self._path.with_name(f"{self._path.name}.db")
        for taken in (self._path, self._index):
            if taken.exists():
                raise UserError(f"{taken} exists already. Allowed: a path without a file.")
        self._columns = list(columns)
        self._header_bytes, self._page_bytes = header_bytes, page_bytes
        self._ends: list[list[int]] = [[]]  # Of each page, where its rows end.
        self._saved = 0
        suffix = uuid.uuid4().hex
        self._partial = self._path.with_name(f".{self._path.name}.{suffix}")
        self._partial_index = self._path.with_name(f".{self._index.name}.{suffix}")

    def __enter__(self) -> Self:
        """Make the folder and begin."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._partial.open("xb")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Bring file and index into place, or remove what was written."""
        try:
            with self._file:
                if kind is None:
                    self._finish()
            if kind is None:
                self._partial_index.replace(self._index)
                self._partial.replace(self._path)
        finally:
            self._partial.unlink(missing_ok=True)
            self._partial_index.unlink(missing_ok=True)

    def add(self, row: Mapping[str, NDArray[np.integer]]) -> None:
        """Add one row.

        Args:
            row: column name to int [any], values of 32 bits.
        Raises:
            UserError: the row does not fit into a page.
        """
        arrays = [pack_integers(row[name]) for name in self._columns]
        self._saved += sum(4 * len(row[name]) for name in self._columns) - sum(map(len, arrays))
        if len(arrays) > 1:
            arrays = [COLUMN_LENGTH.pack(len(array)) + array for array in arrays]
        content = b"".join(arrays)
        content = ROW_LENGTH.pack(len(content)) + content
        if len(content) > self._page_bytes:
            raise UserError(f"{self._path}: a row of {len(content)} bytes exceeds a page of {self._page_bytes}.")
        page = self._ends[-1]
        used = page[-1] if page else 0
        if used + len(content) > self._page_bytes or (len(page) + 1) * _RAW_BYTES > self._page_bytes:
            self._ends.append([])
            page, used = self._ends[-1], 0
        self._file.seek(self._place(len(self._ends) - 1) + used)
        self._file.write(content)
        page.append(used + len(content))

    def _place(self, page: int) -> int:
        return self._header_bytes + page * self._page_bytes

    def _finish(self) -> None:
        """Write the pages of rows without numbers and texts behind the others, then index and header."""
        if not self._ends[0]:
            raise UserError(f"{self._path}: there are no rows to write. Allowed: at least one.")
        raw = self._raw_pages()
        for page, groups in enumerate(raw, start=len(self._ends)):
            self._file.seek(self._place(page))
            self._file.write(_RAW_ROW * sum(len(self._ends[group]) for group in groups))
        self._write_index(raw)
        header = json.dumps(self._header(raw), separators=(",", ":")).encode()
        if ROW_LENGTH.size + len(header) > self._header_bytes:
            raise UserError(f"{self._path}: the header of {len(header)} bytes exceeds {self._header_bytes}.")
        self._file.seek(0)
        self._file.write(ROW_LENGTH.pack(len(header)) + header)
        self._file.flush()
        os.fsync(self._file.fileno())

    def _raw_pages(self) -> list[range]:
        """The groups of rows, one a page of arrays, that share a page of rows without numbers and texts."""
        pages: list[range] = []
        start = rows = 0
        for group, ends in enumerate(self._ends):
            if (rows + len(ends)) * _RAW_BYTES > self._page_bytes:
                pages.append(range(start, group))
                start, rows = group, 0
            rows += len(ends)
        return [*pages, range(start, len(self._ends))]

    def _write_index(self, raw: list[range]) -> None:
        connection = sqlite3.connect(self._partial_index)
        try:
            with connection:
                connection.execute(_TABLE)
                connection.execute("CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL)")
                connection.execute("INSERT INTO SHARD_NAME VALUES(?)", (self._path.name,))
                row = 0
                for page, groups in enumerate(raw, start=len(self._ends)):
                    offset = 0
                    for group in groups:
                        ends = self._ends[group]
                        entries = [
                            (
                                row + n,
                                page,
                                offset + n * _RAW_BYTES,
                                offset + (n + 1) * _RAW_BYTES,
                                *(group, group, start, end),
                            )
                            for n, (start, end) in enumerate(zip([0, *ends], ends, strict=False))
                        ]
                        connection.executemany("INSERT INTO INDEXES VALUES(?,?,?,?,?,?,?,?)", entries)
                        row += len(ends)
                        offset += len(ends) * _RAW_BYTES
        finally:
            connection.close()

    def _header(self, raw: list[range]) -> dict[str, Any]:
        pages: list[dict[str, Any]] = []
        row = 0
        for page, ends in enumerate(self._ends):
            entry = _page_entry(page, page, BLOB_PAGE, ends[-1], [0])
            pages.append({**entry, "start_row_id": row, "end_row_id": row + len(ends)})
            row += len(ends)
        for number, groups in enumerate(raw):
            sizes = [len(self._ends[group]) * _RAW_BYTES for group in groups]
            offsets = np.cumsum([0, *sizes]).tolist()
            entry = _page_entry(len(self._ends) + number, number, RAW_PAGE, offsets[-1], offsets[:-1], groups.start)
            pages.append({**entry, "start_row_id": 0, "end_row_id": 0})
        types = {name: {"shape": [-1], "type": "int32"} for name in self._columns}
        return {
            "header_size": self._header_bytes,
            "index_fields": None,
            "page": pages,
            "page_size": self._page_bytes,
            "compression_size": max(0, self._saved),
            "schema": [{"blob_fields": self._columns, "desc": "token ids", "schema": types}],
            "shard_addresses": [self._path.name],
            "shard_id": 0,
            "statistics": None,
            "version": VERSION,
        }


def _page_entry(
    page: int, number_of_type: int, kind: str, size: int, offsets: Sequence[int], first_group: int = 0
) -> dict[str, Any]:
    """What the header says of a page: its bytes, and where in it each group of rows begins."""
    groups = [{"id": first_group + number, "offset": offset} for number, offset in enumerate(offsets)]
    return {
        "page_id": page,
        "page_size": size,
        "page_type": kind,
        "page_type_id": number_of_type,
        "row_group_ids": groups,
        "shard_id": 0,
    }
