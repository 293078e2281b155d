"""Writes token ids in Megatron's indexed form (`mf_data.indexed.files` says what that is)."""

import os
import uuid
from array import array
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mf_config.problems import UserError, name_values
from mf_data.files import write_atomically
from mf_data.indexed.files import data_path, index_path
from mf_data.indexed.header import DTYPES, HEADER, LENGTH, MAGIC, PLACE, VERSION


class IndexedWriter:
    """Writes one pair of `.bin` and `.idx` files; use it as a context manager.

    The ids go into a file beside the target. When the context ends without an exception it is flushed to the disk and
    moved into place, then the index is: a pair with an index is whole. After an exception nothing is left.

    Example:
        with IndexedWriter("corpus", np.uint16) as writer:
            for ids in documents:
                writer.add_document([ids])
    """

    def __init__(self, prefix: str | Path, dtype: type[np.generic] | np.dtype[Any]):
        """Takes the target.

        Args:
            prefix: path of both files, without `.bin` and `.idx`.
            dtype: type in which ids are stored; `smallest_dtype` finds it for a vocabulary.
        Raises:
            UserError: there is a file in that place already, or the form has no code for the type.
        """
        self._prefix = Path(prefix)
        self._dtype = np.dtype(dtype)
        codes = [code for code, known in DTYPES.items() if self._dtype == np.dtype(known)]
        if not codes:
            known = name_values(sorted(np.dtype(known).name for known in DTYPES.values()))
            raise UserError(f"{self._dtype.name} ids have no place in an indexed file. Allowed: {known}.")
        self._code = codes[0]
        self._stored = self._dtype.newbyteorder("<")
        check_free(prefix)
        self._lengths = array("i")
        self._documents = array("q", [0])
        self._partial = data_path(prefix).with_name(f".{self._prefix.name}.bin.{uuid.uuid4().hex}")

    def __enter__(self) -> Self:
        """Make the folder and begin."""
        self._partial.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._partial.open("xb")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Bring the pair into place, or remove what was written."""
        try:
            with self._file:
                self._file.flush()
                os.fsync(self._file.fileno())
            if kind is None:
                self._partial.replace(data_path(self._prefix))
                write_atomically(index_path(self._prefix), self._index())
        finally:
            self._partial.unlink(missing_ok=True)

    def add_document(self, sequences: Sequence[ArrayLike]) -> None:
        """Add one document.

        Args:
            sequences: its parts, [ids] each; mostly one.
        Raises:
            UserError: an id does not fit the type of the file.
        """
        for sequence in sequences:
            ids = np.asarray(sequence)
            self._write(ids if ids.size else np.zeros(0, self._dtype))
            self._lengths.append(len(ids))
        self._documents.append(len(self._lengths))

    def add_documents(self, tokens: NDArray[Any], lengths: NDArray[np.integer[Any]]) -> None:
        """Add many documents of one sequence each.

        Args:
            tokens: [sum of lengths], the ids of all of them, one after the other.
            lengths: int [documents], ids of each.
        Raises:
            UserError: an id does not fit the type of the file.
        """
        assert int(lengths.sum()) == len(tokens), "the lengths must be those of the ids"
        self._write(tokens)
        first = len(self._lengths)
        self._lengths.frombytes(lengths.astype(np.intc).tobytes())
        self._documents.frombytes(np.arange(first + 1, len(self._lengths) + 1, dtype=np.int64).tobytes())

    def _write(self, ids: NDArray[Any]) -> None:
        stored = ids.astype(self._stored, copy=False)
        if not np.array_equal(stored, ids):
            wrong = ids[stored != ids][0]
            raise UserError(
                f"{self._prefix}: id {wrong} of sequence {len(self._lengths)} does not fit {self._dtype.name}. "
                "Allowed: ids of the vocabulary for which the type was chosen."
            )
        self._file.write(stored.tobytes())

    def _index(self) -> bytes:
        lengths = np.frombuffer(self._lengths, np.intc) if self._lengths else np.zeros(0, np.intc)
        ends = np.cumsum(lengths, dtype=np.int64) * self._dtype.itemsize
        places = np.concatenate([np.zeros(min(1, len(ends)), np.int64), ends[:-1]])
        documents = np.frombuffer(self._documents, np.int64)
        header = HEADER.pack(MAGIC, VERSION, self._code, len(lengths), len(documents))
        parts = (lengths.astype(LENGTH).tobytes(), places.astype(PLACE).tobytes(), documents.astype(PLACE).tobytes())
        return header + b"".join(parts)


def check_free(prefix: str | Path) -> None:
    """Make sure that nothing stands where a pair is to be written.

    Raises:
        UserError: a file stands there.
    """
    for path in (index_path(prefix), data_path(prefix)):
        if path.exists():
            raise UserError(f"{path} exists already. Allowed: a prefix without files.")
