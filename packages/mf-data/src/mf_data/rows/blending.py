"""Several data sets mixed into one, by weights: exact numbers of rows, in an order that needs no list."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_data.rows.data_set import Columns, Rows, digest
from mf_data.rows.permutation import Permutation
from mf_data.rows.row_order import Order, permuted_within, seed_of_part

_MOST_ROWS = 2**31
"""Products of two numbers of rows must fit into 64 bits."""

_TURNS = 1024
"""Rows of a mixture among which the turns of its parts are put into a new order: each keeps its share throughout."""


def exact_counts(weights: Sequence[float], total: int) -> list[int]:
    """Divide a number of rows by weights, so that it comes out exactly.

    Each share is rounded down; what is left goes to the largest fractions, to the earlier ones among equals.

    Args:
        weights: numbers that are not negative; only their proportions count. The decimal digits that are written count,
            so that 0.1 is a tenth.
        total: how many rows.
    Returns:
        As many numbers, which sum to `total`; each differs from its exact share by less than one.
    Raises:
        UserError: a weight is negative or not finite, or all are 0.
    Source: the largest remainder method (Hamilton apportionment).
    """
    if not weights or any(not 0 <= weight < float("inf") for weight in weights) or not sum(weights):
        raise UserError(f"weights {list(weights)} divide nothing. Allowed: numbers from 0, one of them above 0.")
    shares = [Fraction(str(weight)) for weight in weights]
    exact = [total * share / sum(shares) for share in shares]
    counts = [int(share) for share in exact]
    by_remainder = sorted(range(len(counts)), key=lambda source: (counts[source] - exact[source], source))
    for source in by_remainder[: total - sum(counts)]:
        counts[source] += 1
    return counts


def interleave(positions: NDArray[np.int64], counts: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the rows of a mixture come from, each data set spread evenly over it and read in its own order.

    Args:
        positions: int64 [n], rows of the mixture, each from 0 to `sum(counts) - 1`.
        counts: rows that each data set gives to the mixture.
    Returns:
        int64 [n], the data set of each row; and int64 [n], the row's number within the part that it gives.
    Source: Bresenham 1965, Algorithm for computer control of a digital plotter: of a set and the rest, it is the set's
        turn where `floor(position * count / total)` steps up; the rest is divided in the same way.
    """
    sources = np.full(len(positions), len(counts) - 1)
    numbers = np.zeros(len(positions), np.int64)
    left = np.arange(len(positions))
    within = positions.astype(np.int64)
    total = sum(counts)
    for source, count in enumerate(counts):
        before = within * count // max(1, total)
        turn = (within + 1) * count // max(1, total) > before
        sources[left[turn]] = source
        numbers[left[turn]] = before[turn]
        left, within = left[~turn], (within - before)[~turn]
        total -= count
    return sources, numbers


def place_of(sources: NDArray[np.int64], numbers: NDArray[np.int64], counts: Sequence[int]) -> NDArray[np.int64]:
    """Where rows stand in a mixture: the inverse of `interleave`.

    Args:
        sources: int64 [n], data sets.
        numbers: int64 [n], numbers of rows within what each gives.
        counts: rows that each data set gives.
    Returns:
        int64 [n], rows of the mixture.
    """
    places = numbers.copy()
    rest = 0
    for source in reversed(range(len(counts))):
        own, total = sources == source, rest + counts[source]
        # The first place up to which so many rows are the set's, or the rest's.
        places[own] = -(-(numbers[own] + 1) * total // max(1, counts[source])) - 1
        later = sources > source
        places[later] = places[later] * total // max(1, rest)
        rest = total
    return places


class BlendGroups:
    """The parts of a mixture."""

    def __init__(self, counts: Sequence[int]):
        """Takes the number of rows of each part."""
        self._counts = list(counts)

    def order_of_groups(self, seed: int, number: int) -> Order:
        """A random order of the turns of the parts; see `mf_data.rows.row_order.Groups.order_of_groups`."""

        def order(places: NDArray[np.int64]) -> NDArray[np.int64]:
            rows = np.empty_like(places)
            for block in np.unique(places // _TURNS).tolist():
                first = block * _TURNS
                size = min(_TURNS, sum(self._counts) - first)
                sources, _ = interleave(np.arange(first, first + size), self._counts)
                turns = sources[Permutation(size, seed_of_part(seed, block), number)(np.arange(size))]
                found = np.empty(size, np.int64)
                found[np.argsort(turns, kind="stable")] = first + np.argsort(sources, kind="stable")
                own = places // _TURNS == block
                rows[own] = found[places[own] - first]
            return rows

        return order

    def order_within(self, seed: int, number: int) -> Order:
        """A random order of the rows of each part; see `mf_data.rows.row_order.Groups.order_within`."""
        counts = np.array(self._counts)

        def order(places: NDArray[np.int64]) -> NDArray[np.int64]:
            sources, numbers = interleave(places, self._counts)
            return place_of(sources, permuted_within(sources, numbers, counts, seed, number), self._counts)

        return order


class BlendedRows:
    """A mixture of data sets, of which each gives a certain number of rows.

    One that has fewer rows than it gives is read again from its beginning. Two mixtures of the same data sets and
    numbers are equal, whatever the machine.
    """

    def __init__(self, sources: Sequence[Rows], counts: Sequence[int]):
        """Takes the data sets, all with the same columns, and how many rows each gives, from 0.

        Raises:
            UserError: the data sets have different columns, or too many rows are asked for.
        """
        columns = [set(source.padding) for source in sources]
        if any(names != columns[0] for names in columns):
            found = "; ".join(", ".join(sorted(names)) for names in columns)
            raise UserError(f"data sets with different columns can't be mixed: {found}. Allowed: equal columns.")
        if sum(counts) >= _MOST_ROWS:
            raise UserError(f"a mixture of {sum(counts)} rows is too large. Allowed: less than {_MOST_ROWS}.")
        self._sources = sources
        self._counts = list(counts)

    @property
    def groups(self) -> BlendGroups:
        """The data sets."""
        return BlendGroups(self._counts)

    @property
    def padding(self) -> Mapping[str, int]:
        """What fills a row that stands for no data."""
        return self._sources[0].padding

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the data sets and their numbers of rows."""
        return digest("blend", self._counts, *(source.fingerprint for source in self._sources))

    def __len__(self) -> int:
        """How many rows there are."""
        return sum(self._counts)

    def __getitem__(self, indices: NDArray[np.integer[Any]]) -> Columns:
        """The rows of int [n] indices, each column int32 [n, width].

        Raises:
            UserError: rows of two data sets differ in length.
        """
        sources, numbers = interleave(indices.astype(np.int64), self._counts)
        places = [np.flatnonzero(sources == source) for source in range(len(self._sources))]
        parts = [
            rows[numbers[place] % len(rows)] for rows, place in zip(self._sources, places, strict=True) if len(place)
        ]
        order = np.argsort(np.concatenate([place for place in places if len(place)]))
        return {name: _joined([part[name] for part in parts], name)[order] for name in parts[0]}


def _joined(parts: Sequence[NDArray[np.int32]], name: str) -> NDArray[np.int32]:
    widths = {part.shape[1] for part in parts}
    if len(widths) > 1:
        found = " and ".join(map(str, sorted(widths)))
        raise UserError(f"rows of {found} values in the column {name} can't be mixed. Allowed: one length.")
    return np.concatenate(parts)
