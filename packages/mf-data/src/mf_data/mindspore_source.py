"""The batches of a run as MindSpore's data pipeline reads them; MindSpore is not needed for it."""

import numpy as np
from numpy.typing import NDArray

from mf_data.batches import Batches

VALID = "valid"
"""Column of one number, how many rows of a batch hold data."""


class MindSporeSource:
    """What `mindspore.dataset.GeneratorDataset` takes as its source: one item a step, a whole batch each.

    Its order is that of the steps already, so the pipeline must neither shuffle nor batch:

        GeneratorDataset(source, list(source.column_names), shuffle=False)

    Attributes:
        column_names: names of the arrays of an item.
    """

    def __init__(self, batches: Batches, steps: range, *, rank: int = 0, ranks: int = 1):
        """Takes the batches.

        Args:
            batches: all batches of a run.
            steps: the steps to read, for instance those of one epoch.
            rank: this data-parallel rank, from 0.
            ranks: number of data-parallel ranks.
        """
        self._batches, self._steps = batches, steps
        self._rank, self._ranks = rank, ranks
        self.column_names = (*batches.column_names, VALID)

    def __len__(self) -> int:
        """How many steps there are."""
        return len(self._steps)

    def __getitem__(self, item: int) -> tuple[NDArray[np.int32], ...]:
        """The arrays of one step, int32 [rows, width] each in the order of `column_names`; `valid` is int32 [1]."""
        batch = self._batches.batch(self._steps[item], self._rank, self._ranks)
        columns = [batch.columns[name] for name in self._batches.column_names]
        return (*columns, np.array([batch.valid], np.int32))
