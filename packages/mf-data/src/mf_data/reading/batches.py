"""Which rows a step reads: a function of the seed and the step alone, whatever the number of processes.

Nothing here advances: `batch(step, …)` may be asked for any step in any order. So resuming is asking for the next one,
every data-parallel rank sees a part of the same global batch, and no number of workers changes what it holds. The order
of an epoch is computed place by place, so that a start takes the same time and memory for any number of rows.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_data.rows.data_set import Columns, Rows
from mf_data.rows.row_order import Order, Shuffle, order_of


@dataclass(frozen=True, slots=True)
class Batch:
    """One rank's part of a global batch.

    Attributes:
        columns: column name to int32 [rows, width]; always the same number of rows.
        valid: how many rows, from the first one, hold data. The rest is padding, that no loss may count; there is some
            only in the last batch of a pass over the rows, where `drop_remainder` is False.
    """

    columns: Columns
    valid: int


@dataclass(frozen=True, slots=True)
class Position:
    """How far a run has read its data, in rows, so that it holds for any batch size.

    Attributes:
        epoch: passes over the rows that are finished; with `repeat`, an epoch has several.
        row: rows of the present pass that are done.
        global_batch_size: rows of a step.
        seed: what the order of rows comes from.
        shuffle: whether each epoch has an order of its own, and of what; see `mf_data.rows.row_order.Shuffle`.
        num_rows: rows of the data set.
        fingerprint: hash of its rows.
    """

    epoch: int
    row: int
    global_batch_size: int
    seed: int
    shuffle: Shuffle
    num_rows: int
    fingerprint: str


class Batches:
    """The batches of a data set, by step."""

    def __init__(
        self,
        rows: Rows,
        *,
        global_batch_size: int,
        seed: int,
        shuffle: Shuffle,
        drop_remainder: bool = True,
        repeat: int = 1,
    ):
        """Fixes everything on which the order of rows depends.

        Args:
            rows: the data set.
            global_batch_size: rows that all ranks together read in a step.
            seed: from 0 to 2**64 - 1; matters only with `shuffle`.
            shuffle: read the rows of each pass in a random order, or the files of a data set, or the rows of each (see
                `mf_data.rows.row_order.Shuffle`); False keeps the order of the data set.
            drop_remainder: leave out the rows of a pass that fill no batch (other rows in each pass, with
                `shuffle`); False pads the last batch.
            repeat: passes over the rows in an epoch, each in an order of its own with `shuffle`.
        Raises:
            UserError: the data set has no rows, or fewer than a batch needs, or no files to put into a new order.
        """
        least = global_batch_size if drop_remainder else 1
        if len(rows) < least:
            raise UserError(
                f"the data set has {len(rows)} rows, but a batch needs {least}. "
                "Allowed: more text, a smaller batch_size or a smaller seq_length."
            )
        self._rows = rows
        self._global_batch_size = global_batch_size
        self._seed = seed
        self._shuffle: Shuffle = True if shuffle == "global" else shuffle
        self._order_of_pass(0)
        full, rest = divmod(len(rows), global_batch_size)
        self._steps_per_pass = full + int(rest > 0 and not drop_remainder)
        self.steps_per_epoch = self._steps_per_pass * repeat

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of a batch."""
        return tuple(self._rows.padding)

    def epoch_of(self, step: int) -> int:
        """The epoch, counted from 0, of a step, counted from 0."""
        return step // self.steps_per_epoch

    def row_indices(self, step: int) -> NDArray[np.int64]:
        """The rows of a global batch.

        Args:
            step: from 0; after the last step of a pass comes the first of the next.
        Returns:
            int64 [n] of indices into the data set; n is `global_batch_size` or, in a last batch that is not full, less.
        """
        number, position = divmod(step, self._steps_per_pass)
        start = position * self._global_batch_size
        places = np.arange(start, min(start + self._global_batch_size, len(self._rows)))
        return self._order_of_pass(number)(places)

    def row_indices_of_rank(self, step: int, rank: int, ranks: int) -> NDArray[np.int64]:
        """One rank's part of `row_indices`; arguments as in `batch`.

        Raises:
            UserError: `ranks` does not divide the global batch size.
        """
        size, rest = divmod(self._global_batch_size, ranks)
        if rest:
            raise UserError(
                f"a global batch of {self._global_batch_size} rows can't be divided among {ranks} data-parallel ranks. "
                f"Allowed: a multiple of {ranks}."
            )
        return self.row_indices(step)[rank * size : (rank + 1) * size]

    def batch(self, step: int, rank: int = 0, ranks: int = 1) -> Batch:
        """One rank's rows of a step.

        Args:
            step: from 0.
            rank: this data-parallel rank, from 0.
            ranks: number of data-parallel ranks; each takes as many rows, in order of the ranks.
        Returns:
            `global_batch_size / ranks` rows.
        Raises:
            UserError: `ranks` does not divide the global batch size.
        """
        indices = self.row_indices_of_rank(step, rank, ranks)
        size = self._global_batch_size // ranks
        columns = self._rows[indices]
        return Batch({name: self._pad(name, column, size) for name, column in columns.items()}, len(indices))

    def state(self, step: int) -> dict[str, Any]:
        """What a checkpoint keeps, so that `step_of` finds where to go on.

        Args:
            step: the first step that is not done yet.
        Returns:
            Plain values, fit for JSON.
        """
        number, position = divmod(step, self._steps_per_pass)
        return asdict(
            Position(
                epoch=number,
                row=position * self._global_batch_size,
                global_batch_size=self._global_batch_size,
                seed=self._seed,
                shuffle=self._shuffle,
                num_rows=len(self._rows),
                fingerprint=self._rows.fingerprint,
            )
        )

    def step_of(self, state: Mapping[str, Any]) -> int:
        """The step with which a resumed run goes on, so that it reads each remaining row once.

        Another global batch size gives another step, since steps are counted in batches of the present size.

        Args:
            state: what `state` returned when the checkpoint was saved.
        Returns:
            The first step that is not done yet.
        Raises:
            UserError: the data set, the seed or `shuffle` is not what it was, or the rows that are done are no whole
                number of present batches.
        """
        saved = _position_from(state)
        self._check_same_order(saved)
        position, rest = divmod(saved.row, self._global_batch_size)
        if rest:
            raise UserError(
                f"the checkpoint has done {saved.row} of {saved.num_rows} rows in batches of "
                f"{saved.global_batch_size}, which is no whole number of batches of {self._global_batch_size}. "
                f"Allowed: a global batch size that divides {saved.row}, e.g. {saved.global_batch_size}."
            )
        return saved.epoch * self._steps_per_pass + position

    def _order_of_pass(self, number: int) -> Order:
        return order_of(self._rows, self._shuffle, self._seed, number)

    def _check_same_order(self, saved: Position) -> None:
        if saved.fingerprint != self._rows.fingerprint:
            raise UserError(
                f"the data set is not the one of the checkpoint: it had {saved.num_rows} rows and now has "
                f"{len(self._rows)}, or their tokens differ. "
                "Allowed: the same text, tokenizer, seq_length and num_samples."
            )
        if saved.shuffle != self._shuffle:
            raise UserError(
                f"shuffle: {self._shuffle}, but the checkpoint was made with {saved.shuffle}. Allowed: the same."
            )
        if saved.shuffle and saved.seed != self._seed:
            raise UserError(
                f"seed: {self._seed}, but the checkpoint was made with {saved.seed}. Allowed: the same seed."
            )

    def _pad(self, name: str, column: NDArray[np.int32], size: int) -> NDArray[np.int32]:
        """Fill a column, int32 [n, width], up to int32 [size, width]."""
        missing = ((0, size - len(column)), (0, 0))
        return np.pad(column, missing, constant_values=self._rows.padding[name])


def _position_from(state: Mapping[str, Any]) -> Position:
    names = {declared.name for declared in fields(Position)}
    if set(state) != names:
        difference = ", ".join(sorted(set(state) ^ names))
        raise UserError(f"the checkpoint's data state can't be read: {difference} is missing or unknown.")
    return Position(**state)
