"""Reads TFRecord files of integer arrays without TensorFlow.

A record is the length of its content (8 bytes, little endian) with a checksum (4 bytes), and the content with another
one. The content is a message `tf.train.Example`: features by name, each a list of integers, of floats or of bytes.

Source: TensorFlow's guide to TFRecord, and tensorflow/core/example/{example,feature}.proto.
"""

import gzip
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_data.mapped_file import MappedFile
from mf_data.prepared.crc32c import masked_crc32c
from mf_data.prepared.protobuf import BYTES, VARINT, fields, varints

TF_RECORD_ENDING = ".tfrecord"
Compression = Literal["ZLIB", "GZIP"]

_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
_INT64_LIST = 3
_DECOMPRESS: Mapping[Compression, Callable[[bytes], bytes]] = {"GZIP": gzip.decompress, "ZLIB": zlib.decompress}


class TfRecordFile:
    """One TFRecord file, open for reading.

    Attributes:
        path: the file.
        columns: names of the lists of integers that the first record has.
        starts: int64 [rows], where each record's content begins.
        lengths: int64 [rows], its bytes.
    """

    def __init__(self, path: Path, compression: Compression | None = None):
        """Opens the file and finds its records; a compressed one is decompressed into memory.

        Args:
            path: the file.
            compression: how all of the file is compressed; not where None.
        Raises:
            UserError: there is no such file, it is damaged, or its records hold no integers.
        """
        self.path = path
        if not path.is_file():
            raise UserError(f"{path}: no such file. Allowed: a TFRecord file.")
        self._mapped: MappedFile | None = None
        if compression is None:
            self._mapped = MappedFile(path)
            self._content = self._mapped.content
        else:
            self._content = _decompressed(path, compression)
        found = np.array(list(self._records()), np.int64).reshape(-1, 2)
        self.starts, self.lengths = found[:, 0], found[:, 1]
        self.columns: tuple[str, ...] = tuple(self.row(0)) if len(found) else ()
        if not self.columns:
            raise UserError(f"{path}: holds no integer arrays. Allowed: records of token ids.")

    def __len__(self) -> int:
        """How many records there are."""
        return len(self.starts)

    def row(self, number: int) -> dict[str, NDArray[np.int64]]:
        """The integers of one record.

        Args:
            number: from 0.
        Returns:
            Column name to int64 [any].
        Raises:
            UserError: the record is damaged.
            OSError: the file was cut off since it was opened.
        """
        if self._mapped is not None:
            self._mapped.check()
        start, length = int(self.starts[number]), int(self.lengths[number])
        content = self._content[start : start + length]
        if masked_crc32c(content) != _CHECKSUM.unpack_from(self._content.data, start + length)[0]:
            raise UserError(f"{self.path}: record {number} is damaged (its checksum differs).")
        try:
            return dict(_integers(content))
        except ValueError as error:
            raise UserError(f"{self.path}: record {number} is no tf.train.Example ({error}).") from error

    def _records(self) -> Iterator[tuple[int, int]]:
        """Where the contents stand, and their bytes."""
        place = number = 0
        head = _LENGTH.size + _CHECKSUM.size
        while place < len(self._content):
            if place + head > len(self._content):
                raise self._cut_off(number)
            (length,) = _LENGTH.unpack_from(self._content.data, place)
            (checksum,) = _CHECKSUM.unpack_from(self._content.data, place + _LENGTH.size)
            if masked_crc32c(self._content[place : place + _LENGTH.size]) != checksum:
                raise UserError(
                    f"{self.path}: record {number} does not begin with its length. The file is damaged, compressed, or "
                    "no TFRecord file."
                )
            yield place + head, length
            place += head + length + _CHECKSUM.size
            number += 1
        if place > len(self._content):
            raise self._cut_off(number - 1)

    def _cut_off(self, number: int) -> UserError:
        return UserError(f"{self.path}: ends within record {number}. The file was copied incompletely.")


def find_tf_record_files(place: str | Path, key: str, compression: Compression | None) -> list[TfRecordFile]:
    """The files of a folder and its subfolders, or one file.

    Args:
        place: a folder, or a file.
        key: the key that names it, for messages.
        compression: how they are compressed.
    Raises:
        UserError: there is no such path, or a file is damaged.
    """
    path = Path(place)
    if not str(place) or not path.exists():
        raise UserError(f"{key}: {place or 'empty'} does not exist. Allowed: a TFRecord file or a folder of them.")
    found = [path] if path.is_file() else sorted(each for each in path.rglob(f"*{TF_RECORD_ENDING}") if each.is_file())
    if not found:
        raise UserError(f"{key}: {path} holds no TFRecord files. Allowed: files whose names end in {TF_RECORD_ENDING}.")
    return [TfRecordFile(each, compression) for each in found]


def _decompressed(path: Path, compression: Compression) -> NDArray[np.uint8]:
    try:
        return np.frombuffer(_DECOMPRESS[compression](path.read_bytes()), np.uint8)
    except (zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise UserError(f"{path}: can't be decompressed as {compression} ({error}).") from error


def _integers(example: NDArray[np.uint8]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """The features of a message `tf.train.Example` that are lists of integers."""
    for number, wire, features in fields(example):
        if (number, wire) != (1, BYTES):
            continue
        for _, _, entry in fields(features):
            # An entry of a map: its key is field 1, its value field 2.
            parts = {number: content for number, _, content in fields(entry)}
            for kind, _, values in fields(parts[2]) if {1, 2} <= parts.keys() else ():
                if kind == _INT64_LIST:
                    yield parts[1].tobytes().decode(), _list_of(values)


def _list_of(values: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The numbers of a list, packed or one by one."""
    found = [varints(content) for number, wire, content in fields(values) if number == 1 and wire in (VARINT, BYTES)]
    return np.concatenate([np.zeros(0, np.int64), *found])
