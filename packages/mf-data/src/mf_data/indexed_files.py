"""Token ids in Megatron's indexed form: `PREFIX.bin` holds the ids, `PREFIX.idx` where sequences and documents begin.

Layout of the index, little endian: the magic word, a version, a code for the type of the ids, the number of sequences N
and of document indices M; then N lengths (int32, in ids), N places in the data file (int64, in bytes) and M document
indices (int64, in sequences; the first is 0, the last N).

Both files are mapped into memory, so that opening costs little memory whatever their size, and are checked as a whole
when they are opened: a damaged pair is refused at once, not in the middle of an epoch.

Source: the IndexedDataset of Megatron-LM (megatron/core/datasets/indexed_dataset.py), whose files these are.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError, name_values

MAGIC = b"MMIDIDX\x00\x00"
VERSION = 1
HEADER = struct.Struct("<9sQBQQ")
"""Magic word, version, type code, number of sequences, number of document indices."""

DTYPES = {1: np.uint8, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.float32, 7: np.float64, 8: np.uint16}
"""Type code to the type of an id; the two floating types hold values that are no ids."""

LENGTH = np.dtype("<i4")
PLACE = np.dtype("<i8")

_ENTRIES_AT_ONCE = 1 << 20
"""Index entries that are checked in one go, so that the check of any file takes the same memory."""


class IndexedFile:
    """A pair of `.bin` and `.idx` files, open for reading.

    Attributes:
        prefix: path of both files, without their endings.
        tokens: all ids, one sequence after the other, [ids] of the file's type; mapped, not read.
        lengths: int32 [sequences], ids of each sequence.
        places: int64 [sequences], byte of the data file at which each begins.
        documents: int64 [documents + 1], sequence with which each document begins, and the number of sequences.
    """

    def __init__(self, prefix: str | Path):
        """Opens and checks both files.

        Args:
            prefix: their path without `.bin` and `.idx`.
        Raises:
            UserError: a file is missing or damaged, the two do not belong together, or the index holds modes of a
                multimodal data set; the message names the file.
        """
        self.prefix = Path(prefix)
        index, data = index_path(prefix), data_path(prefix)
        for path in (index, data):
            if not path.is_file():
                raise UserError(f"{path}: no such file. Allowed: a pair of files {prefix}.bin and {prefix}.idx.")
        dtype, sequences, documents = _read_header(index)
        content = np.memmap(index, np.uint8, "r")[HEADER.size :]
        ends = np.cumsum([sequences * LENGTH.itemsize, sequences * PLACE.itemsize, documents * PLACE.itemsize])
        self.lengths: NDArray[np.int32] = content[: ends[0]].view(LENGTH)
        self.places: NDArray[np.int64] = content[ends[0] : ends[1]].view(PLACE)
        self.documents: NDArray[np.int64] = content[ends[1] : ends[2]].view(PLACE)
        self._check_places(index, dtype.itemsize)
        self._check_documents(index)
        self._check_size(data, dtype)
        # An empty file can't be mapped.
        self.tokens: NDArray[Any] = np.memmap(data, dtype, "r") if data.stat().st_size else np.zeros(0, dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored ids."""
        return self.tokens.dtype

    def __len__(self) -> int:
        """How many sequences there are."""
        return len(self.lengths)

    def __getitem__(self, sequence: int) -> NDArray[Any]:
        """The ids of one sequence, from 0: [ids] of the file's type, a view of the mapped file."""
        start = int(self.places[sequence]) // self.dtype.itemsize
        return self.tokens[start : start + int(self.lengths[sequence])]

    def token_at(self, document: int) -> int:
        """Number of the first id of a document (`documents` documents: of the end), counted over the whole file."""
        sequence = int(self.documents[document])
        return len(self.tokens) if sequence == len(self) else int(self.places[sequence]) // self.dtype.itemsize

    def sequence_at(self, token: int) -> int:
        """The sequence that holds an id, which is counted over the whole file."""
        return int(np.searchsorted(self.places, token * self.dtype.itemsize, side="right")) - 1

    def lengths_are(self, length: int) -> bool:
        """Whether every sequence has this many ids (and there is one)."""
        return len(self) > 0 and all((self.lengths[part] == length).all() for part in _parts(len(self)))

    def _check_places(self, index: Path, itemsize: int) -> None:
        """Sequences follow each other without gaps, as every writer makes them."""
        expected = 0
        for part in _parts(len(self)):
            lengths = self.lengths[part].astype(np.int64)
            if (lengths < 0).any():
                sequence = part.start + int(np.argmax(lengths < 0))
                raise UserError(f"{index}: sequence {sequence} has length {lengths[sequence - part.start]}.")
            ends = expected + np.cumsum(lengths) * itemsize
            wrong = self.places[part] != np.concatenate([[expected], ends[:-1]])
            if wrong.any():
                sequence = part.start + int(np.argmax(wrong))
                raise UserError(
                    f"{index}: sequence {sequence} begins at byte {self.places[sequence]}, but the lengths before it "
                    f"and ids of {itemsize} bytes put it elsewhere. The index is damaged or its type code is wrong."
                )
            expected = int(ends[-1])

    def _check_documents(self, index: Path) -> None:
        last = -1
        for part in _parts(len(self.documents)):
            documents = self.documents[part]
            if documents[0] < last or (np.diff(documents) < 0).any():
                raise UserError(f"{index}: the document indices are not in order.")
            last = int(documents[-1])
        if not len(self.documents) or self.documents[0] != 0 or last != len(self):
            raise UserError(f"{index}: the document indices do not run from 0 to {len(self)}, the number of sequences.")

    def _check_size(self, data: Path, dtype: np.dtype[Any]) -> None:
        needed = int(self.places[-1]) + int(self.lengths[-1]) * dtype.itemsize if len(self) else 0
        size = data.stat().st_size
        if size != needed:
            raise UserError(
                f"{data}: has {size} bytes, but {self.prefix}.idx tells of {needed} bytes of {dtype.name}. "
                "The file was copied incompletely or belongs to another index."
            )


def index_path(prefix: str | Path) -> Path:
    """Path of the index."""
    return Path(f"{prefix}.idx")


def data_path(prefix: str | Path) -> Path:
    """Path of the data file."""
    return Path(f"{prefix}.bin")


def smallest_dtype(vocab_size: int) -> np.dtype[Any]:
    """The type in which Megatron stores the ids of a vocabulary.

    Source: DType.optimal_dtype of Megatron-LM; it leaves some room below 65536.
    """
    return np.dtype(np.uint16 if vocab_size < 65500 else np.int32)


def _read_header(index: Path) -> tuple[np.dtype[Any], int, int]:
    """Type of the ids, number of sequences and of document indices, all of which the file is large enough for."""
    size = index.stat().st_size
    with index.open("rb") as file:
        content = file.read(HEADER.size)
    if len(content) < HEADER.size:
        raise UserError(f"{index}: has {size} bytes, too few for an index. The file was copied incompletely.")
    magic, version, code, sequences, documents = HEADER.unpack(content)
    if magic != MAGIC:
        raise UserError(f"{index}: begins with {magic!r} and is no index. Allowed: {MAGIC!r}.")
    if version != VERSION:
        raise UserError(f"{index}: has version {version}. Allowed: {VERSION}.")
    if code not in DTYPES:
        known = name_values(f"{code} {dtype.__name__}" for code, dtype in DTYPES.items())
        raise UserError(f"{index}: type code {code} is unknown. Allowed: {known}.")
    needed = HEADER.size + sequences * (LENGTH.itemsize + PLACE.itemsize) + documents * PLACE.itemsize
    if sequences and size == needed + sequences:
        raise UserError(f"{index}: holds a mode for each sequence (a multimodal data set). Allowed: an index of text.")
    if size != needed:
        raise UserError(
            f"{index}: has {size} bytes, but {sequences} sequences and {documents} document indices take {needed}. "
            "The file is damaged or was copied incompletely."
        )
    return np.dtype(DTYPES[code]).newbyteorder("<"), sequences, documents


def _parts(count: int) -> Iterator[slice]:
    for start in range(0, count, _ENTRIES_AT_ONCE):
        yield slice(start, min(start + _ENTRIES_AT_ONCE, count))
