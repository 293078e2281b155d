"""Rows of prepared ids from files that store them one by one, such as the MindRecord files of MindFormers' scripts."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError, name_values
from mf_data.rows.data_set import IGNORED, Columns, digest
from mf_data.rows.row_order import FileGroups
from mf_data.rows.token_roles import filling
from mf_data.tokenizers.base import Tokenizer

IDS, LABELS, MASK = _KNOWN = "input_ids", "labels", "attention_mask"
_TARGETS = "target_ids"
"""What the run files of Qwen 1.5 and Qwen 2 call the labels."""

_SAMPLED_ROWS = 256
"""Rows that go into the fingerprint, spread evenly."""


class StoredFile(Protocol):
    """A file of rows, each with integer arrays by column."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the arrays that each row has."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64 [rows], bytes of each row in the file."""

    def __len__(self) -> int:
        """How many rows there are."""
        ...

    def row(self, number: int) -> dict[str, NDArray[np.int64]]:
        """The arrays of a row, from 0: column name to int64 [any].

        Raises:
            UserError: the row is damaged.
        """
        ...


@runtime_checkable
class StoredLoader(Protocol):
    """A loader of such files."""

    def stored_files(self) -> Sequence[StoredFile]:
        """The files, open.

        Raises:
            UserError: no file is named, or one is missing or damaged.
        """
        ...


def stored_column(file: StoredFile, names: Sequence[str]) -> str:
    """The name by which a file has a column.

    Args:
        file: the file.
        names: those that it may have, the first of them if several are there.
    Raises:
        UserError: it has none of them.
    """
    for name in names:
        if name in file.columns:
            return name
    raise UserError(f"{file.path}: has no column {' or '.join(names)}. It has {name_values(file.columns)}.")


class StoredRows:
    """Rows of `seq_length + 1` ids with labels beside them.

    Stored rows come in three forms, told apart by their columns and their length:

    * `seq_length + 1` ids alone: all of them are learnt, but for the padding behind them;
    * as many ids and `labels` beside them;
    * `seq_length` ids and as many `labels`, each one place ahead (GLM): they are moved back.

    An id whose `attention_mask` is 0 is not learnt. `target_ids` are labels under another name.

    Attributes:
        padding: what fills a row that stands for no data.
    """

    def __init__(
        self,
        files: Sequence[StoredFile],
        seq_length: int,
        tokenizer: Tokenizer,
        columns: Sequence[str] | None = None,
        vocab_size: int | None = None,
    ):
        """Takes the open files.

        Args:
            files: in the order in which their rows count.
            seq_length: tokens that the model reads at once.
            tokenizer: that with which the rows were prepared.
            columns: the columns to read; where None, `input_ids`, `labels` or `target_ids`, and `attention_mask` as far
                as they are there.
            vocab_size: ids from this one on are refused; those that are not the tokenizer's where None.
        Raises:
            UserError: a file lacks a column, or it is not known what one means.
        """
        self._files = files
        self._seq_length = seq_length
        self._vocab_size, self._end = vocab_size or tokenizer.vocab_size, tokenizer.eos_id
        self._pad = filling(tokenizer)
        unknown = set(columns or ()) - {*_KNOWN, _TARGETS}
        if unknown:
            names = ", ".join(sorted(unknown))
            raise UserError(f"input_columns: it is not known what {names} means. Allowed: {name_values(_KNOWN)}.")
        chosen = files[0].columns if columns is None else columns
        self._label_column = _TARGETS if _TARGETS in chosen and LABELS not in chosen else LABELS
        self._columns = [name for name in _KNOWN if self._stored_name(name) in chosen]
        for file in files:
            missing = {IDS, *map(self._stored_name, self._columns)} - set(file.columns)
            if missing:
                lacking = ", ".join(sorted(missing))
                raise UserError(f"{file.path}: has no column {lacking}. Allowed: {name_values(file.columns)}.")
        self._ends = np.cumsum([len(file) for file in files])
        self.padding: Mapping[str, int] = {IDS: self._pad, LABELS: IGNORED}

    @property
    def groups(self) -> FileGroups:
        """The files."""
        return FileGroups([len(file) for file in self._files])

    def __len__(self) -> int:
        """How many rows there are."""
        return int(self._ends[-1])

    def __getitem__(self, indices: NDArray[np.integer[Any]]) -> Columns:
        """Some of the rows.

        Args:
            indices: int [n], each from 0 to `len(self) - 1`.
        Returns:
            `input_ids` and `labels`, int32 [n, seq_length + 1] each.
        Raises:
            UserError: a row is damaged, has another length, or holds an id that is not in the vocabulary.
        """
        ids = np.full((len(indices), self._seq_length + 1), self._pad, np.int32)
        labels = np.full(ids.shape, IGNORED, np.int32)
        for row, index in enumerate(indices.tolist()):
            self._fill(index, ids[row], labels[row])
        return {IDS: ids, LABELS: labels}

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the places of all rows and the contents of some: reading all of large files would take minutes."""
        chosen = range(0, len(self), max(1, len(self) // _SAMPLED_ROWS))
        contents = [part for index in chosen for part in self._stored(index)[2].values()]
        lengths = [file.lengths for file in self._files]
        return digest("stored", self._seq_length, self._columns, *lengths, *contents)

    def _stored(self, index: int) -> tuple[StoredFile, int, dict[str, NDArray[np.int64]]]:
        """The file of a row, its number there, and its columns, `labels` by that name."""
        number = int(np.searchsorted(self._ends, index, side="right"))
        file = self._files[number]
        row = index - int(self._ends[number]) + len(file)
        columns = file.row(row)
        if self._label_column in columns:
            columns = {**columns, LABELS: columns[self._label_column]}
        return file, row, columns

    def _stored_name(self, column: str) -> str:
        """What files call a column."""
        return self._label_column if column == LABELS else column

    def _fill(self, index: int, ids: NDArray[np.int32], labels: NDArray[np.int32]) -> None:
        """Put one row into int32 [seq_length + 1] places, which hold padding."""
        file, row, columns = self._stored(index)
        stored, targets = columns[IDS], columns[LABELS] if LABELS in self._columns else None
        ahead = targets is not None and len(stored) == self._seq_length
        if len(stored) != self._seq_length + (not ahead) or any(len(columns[n]) != len(stored) for n in self._columns):
            lengths = ", ".join(f"{len(columns[name])} {name}" for name in self._columns)
            raise UserError(
                f"{file.path}: row {row} has {lengths}. Allowed: seq_length + 1 = {self._seq_length + 1} of each."
            )
        for found in (stored,) if targets is None else (stored, targets[targets != IGNORED]):
            outside = (found < 0) | (found >= self._vocab_size)
            if outside.any():
                raise UserError(
                    f"{file.path}: row {row} holds the id {found[outside][0]}, which is not in the vocabulary. "
                    f"Allowed: 0 to {self._vocab_size - 1}; ids that the run's own tokenizer made."
                )
        ids[: len(stored)] = stored
        learnt = targets if targets is not None else self._without_padding(stored)
        if MASK in self._columns:
            learnt = np.where(columns[MASK] == 0, IGNORED, learnt)
        labels[int(ahead) : int(ahead) + len(stored)] = learnt

    def _without_padding(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The ids as labels; where padding looks like the end token, the first of it ends the text and counts."""
        text = len(ids) - int(np.argmax(ids[::-1] != self._pad)) if (ids != self._pad).any() else 0
        kept = text + int(self._pad == self._end)
        return np.where(np.arange(len(ids)) < kept, ids, IGNORED)
