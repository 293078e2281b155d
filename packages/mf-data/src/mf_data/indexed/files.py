"""Token ids in Megatron's indexed form: `PREFIX.bin` holds the ids, `PREFIX.idx` where sequences and documents begin.

Layout of the index, little endian: the magic word, a version, a code for the type of the ids, the number of sequences N
and of document indices M; then N lengths (int32, in ids), N places in the data file (int64, in bytes) and M document
indices (int64, in sequences; the first is 0, the last N).

Both files are mapped into memory, so that opening costs little memory whatever their size, and are checked as a whole
when they are opened: a damaged pair is refused at once, not in the middle of an epoch.

Source: the IndexedDataset of Megatron-LM (megatron/core/datasets/indexed_dataset.py), whose files these are.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_data.indexed.check import check_index
from mf_data.indexed.header import HEADER, LENGTH, PLACE, read_header
from mf_data.mapped_file import MappedFile


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
        dtype, sequences, documents = read_header(index)
        content = np.memmap(index, np.uint8, "r").view(np.ndarray)[HEADER.size :]
        ends = np.cumsum([sequences * LENGTH.itemsize, sequences * PLACE.itemsize, documents * PLACE.itemsize])
        self.lengths: NDArray[np.int32] = content[: ends[0]].view(LENGTH)
        self.places: NDArray[np.int64] = content[ends[0] : ends[1]].view(PLACE)
        self.documents: NDArray[np.int64] = content[ends[1] : ends[2]].view(PLACE)
        self._shortest, self._longest = check_index(index, dtype.itemsize, sequences, documents)
        self._check_size(data, dtype)
        self._mapped = MappedFile(data)
        self.tokens: NDArray[Any] = self._mapped.content.view(dtype)

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

    def check(self) -> None:
        """Make sure that all ids are still there.

        Raises:
            OSError: the data file was cut off since it was opened.
        """
        self._mapped.check()

    def token_at(self, document: int) -> int:
        """Number of the first id of a document (`documents` documents: of the end), counted over the whole file."""
        sequence = int(self.documents[document])
        return len(self.tokens) if sequence == len(self) else int(self.places[sequence]) // self.dtype.itemsize

    def sequence_at(self, token: int) -> int:
        """The sequence that holds an id, which is counted over the whole file."""
        return int(np.searchsorted(self.places, token * self.dtype.itemsize, side="right")) - 1

    def lengths_are(self, length: int) -> bool:
        """Whether every sequence has this many ids (and there is one)."""
        return len(self) > 0 and self._shortest == self._longest == length

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
