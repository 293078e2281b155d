"""Rows cut from the ids of an indexed file while they are asked for: nothing of the file is copied before.

Rows follow each other over the ends of documents. Since an indexed file stores its sequences without gaps, the place of
a row is its number times its step: there is no list of rows to build or to keep, however many there are.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_data.indexed.files import IndexedFile
from mf_data.rows.data_set import Columns, digest

_SAMPLED_BLOCKS, _SAMPLED_IDS = 256, 1024
"""How much of the ids goes into the fingerprint, spread evenly: enough to tell files apart, read in milliseconds."""


class IndexedRows:
    """Rows of `seq_length + 1` ids of some documents of an indexed file, in one column `input_ids`.

    The last id of a row is the first of the next one, so that every id but the first is a target once. Where each
    stored sequence has `seq_length + 1` ids already, as MindFormers prepares them, each is a row.

    Attributes:
        padding: what fills a row that stands for no data.
    """

    def __init__(
        self,
        file: IndexedFile,
        seq_length: int,
        *,
        documents: range | None = None,
        vocab_size: int | None = None,
        pad_id: int = 0,
    ):
        """Takes the file and which part of it to use.

        Args:
            file: the open pair of files.
            seq_length: tokens that a model reads at once, from 1.
            documents: the documents to use; all where None.
            vocab_size: ids from this one on are refused when a row with one is read; any id passes where None.
            pad_id: id that fills a row which stands for no data.
        Raises:
            UserError: the file holds no integers, or the documents fill no row.
        """
        if file.dtype.kind == "f":
            raise UserError(f"{file.prefix}.idx: holds {file.dtype.name} values. Allowed: token ids.")
        chosen = range(len(file.documents) - 1) if documents is None else documents
        self._file = file
        self._vocab_size = vocab_size
        self._start = file.token_at(chosen.start)
        stop = file.token_at(chosen.stop)
        self._width = seq_length + 1
        self._step = self._width if file.lengths_are(self._width) else seq_length
        self._count = max(0, (stop - self._start - self._width) // self._step + 1)
        self.padding: Mapping[str, int] = {"input_ids": pad_id}
        if not self._count:
            raise UserError(
                f"{file.prefix}: {len(chosen)} documents with {stop - self._start} tokens fill no row of "
                f"seq_length + 1 = {self._width}. Allowed: more text, a larger split or a smaller seq_length."
            )

    def __len__(self) -> int:
        """How many rows there are."""
        return self._count

    def __getitem__(self, indices: NDArray[np.integer[Any]]) -> Columns:
        """Some of the rows.

        Args:
            indices: int [n], each from 0 to `len(self) - 1`.
        Returns:
            `input_ids`: int32 [n, seq_length + 1].
        Raises:
            UserError: an id is not in the vocabulary; the message names its sequence.
            OSError: the file was cut off since it was opened.
        """
        self._file.check()
        starts = self._start + indices.astype(np.int64) * self._step
        ids = np.empty((len(starts), self._width), self._file.dtype)
        for row, start in enumerate(starts.tolist()):
            ids[row] = self._file.tokens[start : start + self._width]
        limit = 2**31 if self._vocab_size is None else self._vocab_size
        if len(ids) and not 0 <= ids.min() <= ids.max() < limit:
            row, column = np.argwhere((ids < 0) | (ids >= limit))[0]
            sequence = self._file.sequence_at(int(starts[row] + column))
            raise UserError(
                f"{self._file.prefix}.bin: sequence {sequence} holds the id {ids[row, column]}, which is not in the "
                f"vocabulary. Allowed: 0 to {limit - 1}; ids that the run's own tokenizer made."
            )
        return {"input_ids": ids.astype(np.int32)}

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the sizes and of ids from all over the file: reading all of a large file would take minutes."""
        file = self._file
        sizes = (file.dtype.str, len(file), len(file.documents), len(file.tokens))
        last = max(0, len(file.tokens) - _SAMPLED_IDS)
        blocks = [file.tokens[i * last // _SAMPLED_BLOCKS :][:_SAMPLED_IDS] for i in range(_SAMPLED_BLOCKS + 1)]
        return digest("indexed", sizes, self._start, self._step, self._width, self._count, *map(np.array, blocks))


def split_documents(shares: str, count: int) -> list[range]:
    """Divide documents among training, validation and test, each a run of neighbours.

    Args:
        shares: up to three numbers that are not negative, with commas between them, such as `949,50,1`; only their
            proportions count.
        count: how many documents there are.
    Returns:
        Three ranges that follow each other and together hold every document once; a missing share is empty.
    Raises:
        UserError: the text is not of this form.
    Source: the split of Megatron-LM (blended_megatron_dataset_config.py and gpt_dataset.py): bounds are rounded.
    """
    try:
        parts = [Fraction(part.strip()) for part in shares.split(",")]
    except (ValueError, ZeroDivisionError):
        parts = []
    if not 1 <= len(parts) <= 3 or min(parts) < 0 or not sum(parts):
        raise UserError(f"split: {shares!r} is no list of shares. Allowed: up to three numbers, such as 949,50,1.")
    parts += [Fraction(0)] * (3 - len(parts))
    bounds = [round(count * sum(parts[:end]) / sum(parts)) for end in range(4)]
    return [range(start, stop) for start, stop in pairwise(bounds)]
