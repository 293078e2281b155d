"""The order in which a pass reads rows: as they are stored, or all rows, their groups, or the rows of each group anew.

Like `mf_data.rows.permutation`, an order is computed place by place: nothing is shuffled, and nothing is kept of rows.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_data.rows.data_set import Rows
from mf_data.rows.permutation import Permutation

ShuffleLevel = Literal["global", "files", "infile"]
"""What is put into a new order: all rows, the files (or the turns of the parts of a mixture), or the rows of each."""

Shuffle = ShuffleLevel | bool
"""True is `global`, and False keeps the stored order."""

Order = Callable[[NDArray[np.int64]], NDArray[np.int64]]
"""From int64 [n] places of a pass to int64 [n] rows."""


class Groups(Protocol):
    """How rows belong together."""

    def order_of_groups(self, seed: int, number: int) -> Order:
        """A random order of the groups, in which the rows of each keep their own.

        Args:
            seed: from 0 to 2**64 - 1.
            number: of the pass; each has an order of its own.
        """
        ...

    def order_within(self, seed: int, number: int) -> Order:
        """A random order of the rows of each group, in which the groups stay where they are; arguments as above."""
        ...


@runtime_checkable
class GroupedRows(Protocol):
    """Rows that may belong together in groups."""

    @property
    def groups(self) -> Groups | None:
        """The groups; None where there are none."""


class FileGroups:
    """Groups of rows that follow each other, such as those of files."""

    def __init__(self, counts: Sequence[int]):
        """Takes the number of rows of each group."""
        self._counts = np.array(counts, np.int64)
        self._ends = np.cumsum(self._counts)
        self._starts = self._ends - self._counts

    def spread(self, count: int) -> "FileGroups":
        """What is left of the groups where `count` rows are kept that are spread evenly over all."""
        ends = -(-self._ends * count // self._ends[-1])
        return FileGroups(np.diff(ends, prepend=0).tolist())

    def order_of_groups(self, seed: int, number: int) -> Order:
        """A random order of the groups; see `Groups.order_of_groups`."""
        groups = Permutation(len(self._counts), seed, number)(np.arange(len(self._counts)))
        ends = np.cumsum(self._counts[groups])
        shifts = self._ends[groups] - ends

        def order(places: NDArray[np.int64]) -> NDArray[np.int64]:
            return places + shifts[np.searchsorted(ends, places, side="right")]

        return order

    def order_within(self, seed: int, number: int) -> Order:
        """A random order of the rows of each group; see `Groups.order_within`."""

        def order(places: NDArray[np.int64]) -> NDArray[np.int64]:
            groups = np.searchsorted(self._ends, places, side="right")
            starts = self._starts[groups]
            return starts + permuted_within(groups, places - starts, self._counts, seed, number)

        return order


def groups_of(rows: Rows) -> Groups | None:
    """The groups of rows; None where they have none."""
    return rows.groups if isinstance(rows, GroupedRows) else None


def order_of(rows: Rows, shuffle: Shuffle, seed: int, number: int) -> Order:
    """The order of one pass over a data set.

    Args:
        rows: the data set.
        shuffle: what is put into a new order.
        seed: from 0 to 2**64 - 1.
        number: of the pass, from 0.
    Raises:
        UserError: groups are to be put into a new order, but the rows have none.
    """
    if shuffle is False:
        return np.copy
    if shuffle in (True, "global"):
        return Permutation(len(rows), seed, number)
    groups = groups_of(rows)
    if groups is None:
        raise UserError(
            f"data_loader.shuffle: {shuffle} needs the rows of files or of a whole mixture. "
            "Allowed: True; or a loader of MindRecord or TFRecord files, or of a mixture without num_samples."
        )
    return groups.order_of_groups(seed, number) if shuffle == "files" else groups.order_within(seed, number)


def permuted_within(
    groups: NDArray[np.int64], numbers: NDArray[np.int64], counts: NDArray[np.int64], seed: int, number: int
) -> NDArray[np.int64]:
    """Rows in a random order of their group, one of its own for each group.

    Args:
        groups: int64 [n], the group of each place.
        numbers: int64 [n], the number of each place within its group.
        counts: int64 [groups], rows of each.
        seed: from 0 to 2**64 - 1.
        number: of the pass.
    Returns:
        int64 [n], the number within its group of the row that stands there.
    """
    permuted = numbers.copy()
    for group in np.unique(groups).tolist():
        own = groups == group
        permuted[own] = Permutation(int(counts[group]), seed_of_part(seed, group), number)(numbers[own])
    return permuted


def seed_of_part(seed: int, part: int) -> int:
    """A seed for one of many parts, from 0 to 2**64 - 1: parts with the same seed would have the same order."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{part}".encode()).digest()[:8], "little")
