"""Which texts share a row: several short ones are put into one, so that little of it is padding."""

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Lengths = NDArray[np.integer]
"""int [texts], tokens of each, none longer than a row."""


@dataclass(frozen=True, slots=True, eq=False)
class Packing:
    """The texts of every row.

    Attributes:
        order: int64 [texts], numbers of the texts, row after row.
        ends: int64 [rows], the place in `order` behind each row's last text.
        utilization: part of all tokens of the rows that is text, from 0 to 1.
    """

    order: NDArray[np.int64]
    ends: NDArray[np.int64]
    utilization: float

    def texts(self, row: int) -> NDArray[np.int64]:
        """Numbers of the texts in one row, int64 [n]."""
        return self.order[self.ends[row - 1] if row else 0 : self.ends[row]]


def pack_none(lengths: Lengths, width: int) -> Packing:
    """Every text in a row of its own."""
    return _packing(np.arange(len(lengths)), np.arange(1, len(lengths) + 1), lengths, width)


def pack_first_fit(lengths: Lengths, width: int) -> Packing:
    """Each text, in their order, into the first row with room for it, else into a new one.

    It keeps neighbours near each other, and a row is mostly full after few more texts. It takes some microseconds a
    text; `pack_by_length` is faster and mostly fuller where there are very many.

    Args:
        lengths: int [texts], tokens of each text, at most `width`.
        width: tokens of a row.
    Returns:
        Rows in the order of their first texts.
    Source: Johnson 1973, Near-optimal bin packing algorithms, section 2 (First Fit, with its tree of rows).
    """
    assert not len(lengths) or lengths.max() <= width, "texts must fit into a row"
    leaves = 1 << max(0, len(lengths) - 1).bit_length()
    # A tree of the room in rows, all of them empty at first: each node holds the most room of a row below it.
    room = [width] * (2 * leaves)
    rows = np.empty(len(lengths), np.int64)
    for text, length in enumerate(lengths.tolist()):
        node = 1
        while node < leaves:
            node *= 2
            node += room[node] < length
        rows[text] = node - leaves
        room[node] -= length
        while node > 1:
            node //= 2
            room[node] = max(room[2 * node], room[2 * node + 1])
    order = np.argsort(rows, kind="stable")
    used = int(rows.max()) + 1 if len(rows) else 0
    return _packing(order, np.searchsorted(rows[order], np.arange(used), side="right"), lengths, width)


def pack_by_length(lengths: Lengths, width: int) -> Packing:
    """The longest text, then the longest that still fits, and so on; texts of equal length in their order.

    Texts are kept in buckets by length and all rows of the same make are filled at once, so that the work grows with
    the number of different lengths, hardly with the number of texts.

    Args:
        lengths: int [texts], tokens of each text, at most `width`.
        width: tokens of a row.
    Returns:
        Rows from the longest first text to the shortest.
    Source: Johnson 1973, Near-optimal bin packing algorithms (First Fit Decreasing), on the histogram of lengths.
    """
    assert not len(lengths) or lengths.max() <= width, "texts must fit into a row"
    by_length = np.argsort(lengths, kind="stable")
    sizes, firsts, counts = np.unique(lengths[by_length], return_index=True, return_counts=True)
    buckets, following, left = sizes.tolist(), firsts.tolist(), counts.tolist()
    order = [np.zeros(0, np.int64)]
    texts_of_row = [np.zeros(0, np.int64)]
    while buckets:
        pattern = _fill(buckets, left, width)
        rows = min(left[bucket] // times for bucket, times in pattern)
        columns = []
        for bucket, times in pattern:
            taken = by_length[following[bucket] : following[bucket] + rows * times]
            columns.append(taken.reshape(rows, times))
            following[bucket] += rows * times
            left[bucket] -= rows * times
        filled = np.concatenate(columns, axis=1)
        order.append(filled.ravel())
        texts_of_row.append(np.full(rows, filled.shape[1]))
        for bucket, _ in pattern:  # From the longest on, so that what is still to be removed keeps its place.
            if not left[bucket]:
                del buckets[bucket], following[bucket], left[bucket]
    return _packing(np.concatenate(order), np.cumsum(np.concatenate(texts_of_row)), lengths, width)


METHODS = {"none": pack_none, "first_fit": pack_first_fit, "by_length": pack_by_length}
"""Ways of packing by their names in a run configuration."""


def _fill(buckets: list[int], left: list[int], width: int) -> list[tuple[int, int]]:
    """The texts of one row: places of buckets, from the longest lengths on, with how many texts of each."""
    pattern = []
    room, bucket = width, len(buckets) - 1
    while bucket >= 0:
        times = min(left[bucket], room // max(1, buckets[bucket]))
        pattern.append((bucket, times))
        room -= times * buckets[bucket]
        bucket = bisect_right(buckets, room, 0, bucket) - 1
    return pattern


def _packing(order: NDArray[np.int64], ends: NDArray[np.int64], lengths: Lengths, width: int) -> Packing:
    whole = len(ends) * width
    return Packing(order.astype(np.int64), ends.astype(np.int64), float(lengths.sum()) / whole if whole else 0.0)
