"""Division of one dimension: which stretches of it one rank holds, and in which order.

Dimensions never mix, so a tensor's local piece is the product of what each dimension gives. All numbers count elements.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise


@dataclass(frozen=True, slots=True)
class Span:
    """A contiguous stretch of a dimension.

    Attributes:
        start: first element, counted in the whole dimension.
        length: number of elements.
    """

    start: int
    length: int


def block(length: int, unit: int, count: int, index: int) -> tuple[int, int]:
    """One of `count` contiguous blocks of a dimension; the first blocks are one unit longer where it doesn't divide.

    Args:
        length: elements in the dimension.
        unit: elements that stay together; the last unit may be shorter.
        count: number of blocks.
        index: which block, 0 to count - 1.

    Returns:
        First element of the block and the one after its last.
    """
    units = -(-length // unit)
    share, longer = divmod(units, count)
    first = index * share + min(index, longer)
    after = first + share + (index < longer)
    return min(first * unit, length), min(after * unit, length)


def cut(spans: Iterable[Span], start: int, stop: int) -> list[Span]:
    """A stretch of what spans hold, counted as if they were joined.

    Args:
        spans: stretches in local order.
        start: first element wanted, in local numbering.
        stop: the one after the last.

    Returns:
        The wanted elements as stretches of the whole dimension, in local order; none of them is empty.
    """
    found = []
    offset = 0
    for span in spans:
        first, after = max(start, offset), min(stop, offset + span.length)
        if first < after:
            found.append(Span(span.start + first - offset, after - first))
        offset += span.length
    return found


def split(spans: Sequence[Span], parts: Sequence[int], unit: int, count: int, index: int) -> list[Span]:
    """What one of `count` ranks keeps of a dimension whose joined parts are divided each by itself.

    Args:
        spans: what is there to divide, in local order.
        parts: lengths that add up to that of the spans; a single one for a plain division.
        unit: elements that stay together in every part.
        count: number of ranks.
        index: which of them, 0 to count - 1.

    Returns:
        The rank's stretches in local order.
    """
    kept = []
    for begin, end in pairwise(accumulate(parts, initial=0)):
        start, stop = block(end - begin, unit, count, index)
        kept += cut(spans, begin + start, begin + stop)
    return kept


def total(spans: Iterable[Span]) -> int:
    """Number of elements in all spans together."""
    return sum(span.length for span in spans)
