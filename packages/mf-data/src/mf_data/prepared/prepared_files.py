"""Tells files of prepared ids by their names, and checks their ids."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mf_data.indexed.files import IndexedFile, index_path
from mf_data.prepared.mind_record_files import MindRecordFile, is_mind_record
from mf_data.prepared.stored_rows import StoredFile
from mf_data.prepared.tf_record_files import TF_RECORD_ENDING, TfRecordFile

_IDS_AT_ONCE = 1 << 22


def indexed_prefix(name: str) -> str | None:
    """The prefix of a pair of `.bin` and `.idx` files, of which one or the prefix is named; None for others."""
    path = Path(name)
    if path.suffix in (".bin", ".idx"):
        return str(path.with_suffix(""))
    return name if index_path(name).is_file() else None


def stored_file(name: str) -> StoredFile | None:
    """The MindRecord or TFRecord file of a name, open; None for other names.

    Raises:
        UserError: it is missing or damaged.
    """
    path = Path(name)
    if is_mind_record(path.name):
        return MindRecordFile(path)
    return TfRecordFile(path) if path.suffix == TF_RECORD_ENDING else None


def ids_outside(file: IndexedFile | StoredFile, vocab_size: int) -> Iterator[tuple[int, int]]:
    """The ids that are not in a vocabulary: of each sequence (or row) with such, its number and the first of them.

    Args:
        file: prepared ids; of stored rows, all are read on the way.
        vocab_size: ids from 0 to one less are in it.
    """
    if not isinstance(file, IndexedFile):
        for number in range(len(file)):
            outside = _outside(file.row(number).get("input_ids", np.zeros(0, np.int64)), vocab_size)
            if len(outside):
                yield number, int(outside[0])
        return
    last = -1
    for start in range(0, len(file.tokens), _IDS_AT_ONCE):
        ids = file.tokens[start : start + _IDS_AT_ONCE]
        for place in np.flatnonzero((ids < 0) | (ids >= vocab_size)).tolist():
            sequence = file.sequence_at(start + place)
            if sequence != last:
                yield sequence, int(ids[place])
            last = sequence


def _outside(ids: NDArray[np.int64], vocab_size: int) -> NDArray[np.int64]:
    return ids[(ids < 0) | (ids >= vocab_size)]
