"""The batches of a run as MindSpore's data pipeline reads them; MindSpore is not needed for it."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mf_data.reading.batches import Batches

VALID = "valid"
"""Column of one number, how many rows of a batch hold data."""

Arrays = tuple[NDArray[Any], ...]


class MindSporeSource:
    """What `mindspore.dataset.GeneratorDataset` takes as its source: one item a step, a whole batch each.

    Its order is that of the steps already, so the pipeline must neither shuffle nor batch:

        GeneratorDataset(source, list(source.column_names), shuffle=False)

    Attributes:
        column_names: names of the arrays of an item.
        failure: why an item could not be made; None where all could. The pipeline's own message hardly tells.
    """

    def __init__(self, steps: range, arrays_of: Callable[[int], Arrays], column_names: Sequence[str]):
        """Takes what makes the batches.

        Args:
            steps: the steps to read, for instance those of one epoch.
            arrays_of: makes the arrays of a step.
            column_names: their names.
        """
        self._steps, self._arrays_of = steps, arrays_of
        self.column_names = tuple(column_names)
        self.failure: Exception | None = None

    @classmethod
    def of_batches(cls, batches: Batches, steps: range, *, rank: int = 0, ranks: int = 1) -> Self:
        """The batches of one rank: int32 [rows, width] by column, and `valid`, int32 [1].

        Args:
            batches: all batches of a run.
            steps: the steps to read.
            rank: this data-parallel rank, from 0.
            ranks: number of data-parallel ranks.
        """

        def arrays_of(step: int) -> Arrays:
            batch = batches.batch(step, rank, ranks)
            return (*(batch.columns[name] for name in batches.column_names), np.array([batch.valid], np.int32))

        return cls(steps, arrays_of, (*batches.column_names, VALID))

    def __len__(self) -> int:
        """How many steps there are."""
        return len(self._steps)

    def __getitem__(self, item: int) -> Arrays:
        """The arrays of one step, in the order of `column_names`.

        Raises:
            UserError: a row is damaged.
            OSError: a worker process ended.
        """
        try:
            return self._arrays_of(self._steps[item])
        except Exception as error:
            self.failure = error
            raise
