"""What two texts, as words or as characters, have in common: ROUGE, BLEU and the longest pieces that both have."""

import math
from collections import Counter
from collections.abc import Sequence

_NO_DIVISION_BY_ZERO = 1e-8
"""Added to the sum of precision and recall by the library rouge, whose numbers these are."""

_BLEU_ORDERS = 4


def ngrams(words: Sequence[str], length: int) -> list[tuple[str, ...]]:
    """All runs of `length` words, in order."""
    return [tuple(words[first : first + length]) for first in range(len(words) - length + 1)]


def rouge_n(written: Sequence[str], wanted: Sequence[str], length: int) -> float:
    """F1 of the different runs of `length` words that both have, from 0 to 1.

    Source: Lin 2004, ROUGE, section 2; each run counts once, as in the libraries rouge and rouge_chinese.
    """
    found, given = set(ngrams(written, length)), set(ngrams(wanted, length))
    return _f1(len(found & given), len(found), len(given))


def rouge_l(written: Sequence[str], wanted: Sequence[str]) -> float:
    """F1 of the longest sequence of words that both have, gaps allowed, from 0 to 1.

    Source: Lin 2004, ROUGE, section 3, with the same weight for precision and recall.
    """
    return _f1(longest_common_subsequence(written, wanted), len(written), len(wanted))


def bleu_4(written: Sequence[str], wanted: Sequence[str]) -> float:
    """Geometric mean of the shares of runs of 1 to 4 that both have, less where `written` is short; from 0 to 1.

    An order without a match counts as 1 / (2^k n) for the k-th such order of n runs; without a single match it is 0.

    Source: Papineni et al. 2002, BLEU, section 2.3; Chen and Cherry 2014, A Systematic Comparison of Smoothing
        Techniques for Sentence-Level BLEU, method 3.
    """
    logarithms, missing = [], 0
    for length in range(1, _BLEU_ORDERS + 1):
        found, given = Counter(ngrams(written, length)), Counter(ngrams(wanted, length))
        total, matches = max(1, found.total()), float((found & given).total())
        if not matches:
            if length == 1:
                return 0.0
            missing += 1
            matches = 0.5**missing
        logarithms.append(math.log(matches / total))
    brevity = min(0.0, 1.0 - len(wanted) / len(written))
    return math.exp(brevity + math.fsum(logarithms) / _BLEU_ORDERS)


def longest_common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest sequence that both have in this order, gaps allowed."""
    before = [0] * (len(other) + 1)
    for word in one:
        row = [0]
        for place, candidate in enumerate(other):
            row.append(before[place] + 1 if word == candidate else max(before[place + 1], row[place]))
        before = row
    return before[-1]


def longest_common_run(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest sequence that both have in one piece."""
    before, longest = [0] * (len(other) + 1), 0
    for word in one:
        row = [0, *(before[place] + 1 if word == candidate else 0 for place, candidate in enumerate(other))]
        longest = max(longest, *row)
        before = row
    return longest


def _f1(common: int, written: int, wanted: int) -> float:
    precision, recall = common / max(1, written), common / max(1, wanted)
    return 2.0 * precision * recall / (precision + recall + _NO_DIVISION_BY_ZERO)
