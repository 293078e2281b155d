"""Texts of different lengths as ids with labels, in two flat arrays, and what is done with those that are too long."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from mf_data.rows.data_set import IGNORED

TooLong = Literal["cut", "split", "drop"]
"""What becomes of a text that is longer than a row: its end is cut off, it goes on in other rows, or it is left out."""


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Texts one after the other.

    Attributes:
        ids: int32 [tokens].
        labels: int32 [tokens], beside the ids (not shifted); `IGNORED` where the loss does not count.
        starts: int64 [texts + 1], where each text begins, and the number of tokens.
    """

    ids: NDArray[np.int32]
    labels: NDArray[np.int32]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]) -> Self:
        """From the ids and the labels of each text."""
        ids, labels, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)], [0]
        for text, targets in pairs:
            ids.append(np.array(text, np.int32))
            labels.append(np.array(targets, np.int32))
            lengths.append(len(text))
        return cls(np.concatenate(ids), np.concatenate(labels), np.cumsum(lengths, dtype=np.int64))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64 [texts], tokens of each text."""
        return np.diff(self.starts)

    def __len__(self) -> int:
        """How many texts there are."""
        return len(self.starts) - 1

    def one(self, sample: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Ids and labels of a text, int32 [its tokens] each."""
        part = slice(self.starts[sample], self.starts[sample + 1])
        return self.ids[part], self.labels[part]

    def parts(self, firsts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Self:
        """Stretches of the flat arrays as texts, int64 [n] each: where they begin and how many tokens they have."""
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        places = np.repeat(firsts - starts[:-1], lengths) + np.arange(starts[-1])
        return type(self)(self.ids[places], self.labels[places], starts)


@dataclass(frozen=True, slots=True)
class Fitted:
    """Texts that fit into rows.

    Attributes:
        samples: the texts.
        too_long: how many texts were longer than a row.
        without_target: how many texts were left out because none of their tokens has a label that counts.
    """

    samples: Samples
    too_long: int
    without_target: int


def fit(samples: Samples, width: int, rule: TooLong) -> Fitted:
    """Bring texts to at most the length of a row, and leave out those from which nothing is learnt.

    The first token of a text has nothing before it from which it could be foretold, so its label does not count here.

    Args:
        samples: the texts.
        width: tokens of a row.
        rule: what becomes of a text that is longer.
    Returns:
        The texts in their order; with `split`, the pieces of a text follow each other.
    """
    lengths, firsts = samples.lengths, samples.starts[:-1]
    longer = lengths > width
    if rule == "split":
        pieces = np.maximum(1, -(-lengths // width))
        nth = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        firsts = np.repeat(firsts, pieces) + nth * width
        lengths = np.minimum(width, np.repeat(lengths, pieces) - nth * width)
    elif rule == "drop":
        firsts, lengths = firsts[~longer], lengths[~longer]
    lengths = np.minimum(lengths, width)
    counted = np.concatenate([np.zeros(1, np.int64), np.cumsum(samples.labels != IGNORED)])
    useful = counted[firsts + lengths] > counted[np.minimum(firsts + 1, firsts + lengths)]
    fitted = samples.parts(firsts[useful], lengths[useful])
    return Fitted(fitted, int(longer.sum()), int((~useful).sum()))
