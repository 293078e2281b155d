"""How long texts are: a few numbers and a histogram."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_WIDEST_BAR = 40


def length_statistics(lengths: NDArray[np.integer[Any]]) -> dict[str, Any]:
    """Describe the lengths of some texts.

    Args:
        lengths: int [texts], from 0.
    Returns:
        `min`, `median`, `mean`, `p95` (95 of 100 are not longer), `max`, and `histogram`: how many have a length from a
        power of two up to below the next, as lists of the first length, the last one and the number. Nothing of no
        texts.
    """
    if not len(lengths):
        return {}
    # The exponent of n >= 1 is the number of its binary digits; that of 0 is 0.
    counts = np.bincount(np.frexp(lengths.astype(np.float64))[1])
    bounds = [(0, 0), *((1 << digits >> 1, (1 << digits) - 1) for digits in range(1, len(counts)))]
    filled = np.flatnonzero(counts)
    return {
        "min": int(lengths.min()),
        "median": float(np.median(lengths)),
        "mean": round(float(lengths.mean()), 1),
        "p95": int(np.quantile(lengths, 0.95, method="inverted_cdf")),
        "max": int(lengths.max()),
        "histogram": [[*bounds[n], int(counts[n])] for n in range(filled[0], filled[-1] + 1)],
    }


def bars(histogram: list[list[int]]) -> list[str]:
    """A histogram as lines of text, the longest bar for the largest number."""
    most = max(count for _, _, count in histogram)
    names = [f"{first}-{last}" if last > first else f"{first}" for first, last, _ in histogram]
    wide, digits = max(map(len, names)), len(str(most))
    return [
        f"{name:>{wide}} {count:>{digits}} {'#' * -(-count * _WIDEST_BAR // most)}".rstrip()
        for name, (_, _, count) in zip(names, histogram, strict=True)
    ]
