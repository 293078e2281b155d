"""The few sizes that graphs are compiled for. A size is rounded up to one of them, and what is too much is padding."""

SHORTEST_PREFILL = 16
"""Tokens of the smallest prefill: below it a step costs about as much as reading the weights once."""

SMALLEST_CACHE = 256
"""Tokens of the smallest cache: one graph serves all short requests, and so few rows cost little beside the weights."""


def bucket(size: int, smallest: int, limit: int) -> int:
    """The smallest of smallest, 2 smallest, 4 smallest, … that holds `size`, but at most `limit`.

    Doubling keeps both the number of graphs and the share of padding small: an axis of N has about log2 N sizes, and
    at most half of one is padding.

    Args:
        size: what must fit; at least 0 and at most `limit`.
        smallest: the first bucket.
        limit: the last bucket.
    """
    assert 0 <= size <= limit, f"{size} does not fit in {limit}"
    found = smallest
    while found < size:
        found *= 2
    return min(found, limit)
