"""Reads MindRecord files: integer arrays in columns, one row a sample, without MindSpore.

A file begins with the length of its JSON header (8 bytes, little endian) and the header. Behind `header_size` bytes
follow pages of `page_size` bytes each. Pages of type BLOB_DATA hold the arrays, row after row: the length of the row (8
bytes, little endian), then, where there are several columns, the length of each (8 bytes, big endian) and its content.
Integer arrays are packed, see `mf_data.prepared.packed_integers`. Other pages hold single numbers and texts, which
prepared rows of token ids don't have. The index beside a file (`.db`, SQLite) repeats where rows begin; reading does
without it.

Source: shard_writer.cc and shard_header.cc of MindSpore (minddata/mindrecord).
"""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError, name_values
from mf_data.mapped_file import MappedFile
from mf_data.prepared.packed_integers import unpack_integers

VERSION = "3.0"
ROW_LENGTH = struct.Struct("<Q")
COLUMN_LENGTH = struct.Struct(">Q")
BLOB_PAGE, RAW_PAGE = "BLOB_DATA", "RAW_DATA"
INTEGERS = ("int32", "int64")
MIND_RECORD_ENDING = "mindrecord"


class MindRecordFile:
    """One MindRecord file, open for reading.

    Attributes:
        path: the file.
        columns: names of the integer arrays that each row has.
        shards: names of all the files that were written together with this one.
        starts: int64 [rows], where each row's arrays begin in the file.
        lengths: int64 [rows], their bytes.
    """

    def __init__(self, path: Path):
        """Opens the file and finds its rows.

        Args:
            path: the file.
        Raises:
            UserError: there is no such file, it is damaged, or its rows hold no integer arrays.
        """
        self.path = path
        if not path.is_file():
            raise UserError(f"{path}: no such file. Allowed: a MindRecord file.")
        header = _read_header(path)
        self._mapped = MappedFile(path)
        self._content = self._mapped.content
        try:
            self._arrays: list[str] = list(header["schema"][0]["blob_fields"])
            types: Mapping[str, Any] = header["schema"][0]["schema"]
            self.columns = tuple(name for name in self._arrays if types[name]["type"] in INTEGERS)
            self.shards = tuple(Path(name).name for name in header["shard_addresses"])
            places = [
                (int(page["page_id"]) * int(header["page_size"]) + int(header["header_size"]), page)
                for page in header["page"]
                if page["page_type"] == BLOB_PAGE
            ]
            rows = [
                self._rows_of_page(start, page)
                for start, page in sorted(places, key=lambda place: int(place[1]["start_row_id"]))
            ]
        except UserError:
            raise
        except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise UserError(f"{path}: its header can't be used ({error}). The file is damaged.") from error
        if not self.columns:
            raise UserError(f"{path}: holds no integer arrays. Allowed: rows of token ids.")
        found = np.array([place for page in rows for place in page], np.int64).reshape(-1, 2)
        self.starts, self.lengths = found[:, 0], found[:, 1]

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.starts)

    def row(self, number: int) -> dict[str, NDArray[np.int64]]:
        """The integer arrays of one row.

        Args:
            number: from 0.
        Returns:
            Column name to int64 [any].
        Raises:
            UserError: the row is damaged.
            OSError: the file was cut off since it was opened.
        """
        self._mapped.check()
        content = self._content[self.starts[number] : self.starts[number] + self.lengths[number]]
        try:
            return {
                name: unpack_integers(array)
                for name, array in zip(self._arrays, self._split(content), strict=True)
                if name in self.columns
            }
        except (ValueError, struct.error) as error:
            raise UserError(f"{self.path}: row {number} is damaged ({error}).") from error

    def _split(self, content: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
        """The bytes of each column."""
        if len(self._arrays) == 1:
            return [content]
        parts, place = [], 0
        while place < len(content):
            (length,) = COLUMN_LENGTH.unpack_from(content.data, place)
            place += COLUMN_LENGTH.size
            parts.append(content[place : place + length])
            place += length
        return parts

    def _rows_of_page(self, start: int, page: Mapping[str, Any]) -> list[tuple[int, int]]:
        """Where the rows of one page stand, and their bytes."""
        stop = start + int(page["page_size"])
        rows = []
        if start < 0 or stop > len(self._content):
            raise UserError(
                f"{self.path}: has {len(self._content)} bytes, but a page reaches to byte {stop}. "
                "The file was copied incompletely."
            )
        while start < stop:
            length = ROW_LENGTH.unpack_from(self._content.data, start)[0] if start + ROW_LENGTH.size <= stop else stop
            start += ROW_LENGTH.size + length
            rows.append((start - length, length))
        if start != stop or len(rows) != int(page["end_row_id"]) - int(page["start_row_id"]):
            raise UserError(f"{self.path}: page {page['page_id']} does not hold the rows that its header tells of.")
        return rows


def is_mind_record(name: str) -> bool:
    """Whether a name is that of a MindRecord file: it ends in `mindrecord` and perhaps a number."""
    return name.rstrip("0123456789").endswith(MIND_RECORD_ENDING)


def find_mind_record_files(place: str | Path, key: str) -> list[MindRecordFile]:
    """The files of a folder and its subfolders, or a file with those that were written together with it.

    Args:
        place: a folder, or a file.
        key: the key that names it, for messages.
    Raises:
        UserError: there is no such path, or a file is missing or damaged.
    """
    path = Path(place)
    if not str(place) or not path.exists():
        raise UserError(f"{key}: {place or 'empty'} does not exist. Allowed: a MindRecord file or a folder of them.")
    if path.is_file():
        file = MindRecordFile(path)
        if path.name not in file.shards:
            return [file]
        return [MindRecordFile(path.with_name(name)) for name in file.shards]
    found = sorted(each for each in path.rglob("*") if each.is_file() and is_mind_record(each.name))
    if not found:
        raise UserError(
            f"{key}: {path} holds no MindRecord files. Allowed: files whose names end in {MIND_RECORD_ENDING}."
        )
    return [MindRecordFile(each) for each in found]


def _read_header(path: Path) -> dict[str, Any]:
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(ROW_LENGTH.size)
        length = ROW_LENGTH.unpack(start)[0] if len(start) == ROW_LENGTH.size else size + 1
        content = file.read(length) if length <= size else b""
    try:
        header = json.loads(content.decode())
    except ValueError as error:
        raise UserError(f"{path}: does not begin with a header. Allowed: a MindRecord file.") from error
    if not isinstance(header, dict) or header.get("version") != VERSION:
        version = header.get("version") if isinstance(header, dict) else None
        raise UserError(f"{path}: has version {version}. Allowed: {name_values([VERSION])}.")
    return header
