"""Data sets that hold some of the rows of others."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mf_data.rows.data_set import Columns, Rows, digest
from mf_data.rows.row_order import FileGroups, Groups, groups_of


class SpreadRows:
    """Some of the rows of a data set, spread evenly over it."""

    def __init__(self, rows: Rows, count: int):
        """Takes the data set and how many of its rows to keep, which are no more than it has.

        The first ones would come from a few documents and stand for nothing but these.
        """
        self._rows = rows
        self._count = count

    @property
    def padding(self) -> Mapping[str, int]:
        """What fills a row that stands for no data."""
        return self._rows.padding

    @property
    def groups(self) -> Groups | None:
        """What is kept of the data set's files; None where it has none."""
        groups = groups_of(self._rows)
        return groups.spread(self._count) if isinstance(groups, FileGroups) else None

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the rows."""
        return digest("spread", self._count, self._rows.fingerprint)

    def __len__(self) -> int:
        """How many rows there are."""
        return self._count

    def __getitem__(self, indices: NDArray[np.integer[Any]]) -> Columns:
        """The rows of int [n] indices, each column int32 [n, width]."""
        return self._rows[indices.astype(np.int64) * len(self._rows) // self._count]


class LaterRows:
    """The rows of a data set but for the first ones."""

    def __init__(self, rows: Rows, first: int):
        """Takes the data set, and how many of its rows are passed over."""
        self._rows = rows
        self._first = first

    @property
    def padding(self) -> Mapping[str, int]:
        """What fills a row that stands for no data."""
        return self._rows.padding

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the rows."""
        return digest("later", self._first, self._rows.fingerprint)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._rows) - self._first

    def __getitem__(self, indices: NDArray[np.integer[Any]]) -> Columns:
        """The rows of int [n] indices, each column int32 [n, width]."""
        return self._rows[indices + self._first]


def at_most(rows: Rows, count: int | None) -> Rows:
    """The rows, or `count` of them that are spread evenly where there are more (None: all)."""
    return rows if count is None or count >= len(rows) else SpreadRows(rows, count)
