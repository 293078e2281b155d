"""The few sizes that graphs are compiled for. A size is rounded up to one of them, and what is too much is padding."""

SHORTEST_PREFILL = 16
"""Tokens of the smallest prefill: below it a step costs about as much as reading the weights once."""

SMALLEST_CONTEXT = 256
"""Tokens that a row may have in the smallest graph: one serves all short requests, and reading so few costs little."""

ROW_GROWTH = 4
"""From one number of rows to the next: a step reads all weights, so rows cost little, and graphs cost much."""


def bucket(size: int, smallest: int, limit: int, growth: int = 2) -> int:
    """The smallest of smallest, growth * smallest, … that holds `size`, but at most `limit`.

    Growing so keeps both the number of graphs and the share of padding small: an axis of N has about log2 N sizes, and
    at most half of one is padding where it doubles.

    Args:
        size: what must fit; at least 0 and at most `limit`.
        smallest: the first bucket.
        limit: the last bucket.
        growth: from one to the next, at least 2.
    """
    assert 0 <= size <= limit, f"{size} does not fit in {limit}"
    found = smallest
    while found < size:
        found *= growth
    return min(found, limit)
