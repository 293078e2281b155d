"""Rows of ids as text for people: what each token says, whether the loss counts it, where documents begin."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mf_data.rows.data_set import IGNORED, Rows
from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.stream import TextStream


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a row.

    Attributes:
        token_id: its id.
        text: what it adds to the text; a character of several tokens stands in the last of them.
        counted: whether the loss compares the model's answer with it.
        begins: whether a document begins with it.
    """

    token_id: int
    text: str
    counted: bool
    begins: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """One row of a data set.

    Attributes:
        row: its number in the data set.
        tokens: its tokens without the padding behind them.
        padding: how many tokens of padding follow.
    """

    row: int
    tokens: tuple[Token, ...]
    padding: int

    @property
    def counted(self) -> int:
        """How many tokens the loss counts."""
        return sum(token.counted for token in self.tokens)

    @property
    def documents(self) -> int:
        """How many documents share the row."""
        return sum(token.begins for token in self.tokens)

    @property
    def summary(self) -> str:
        """The numbers of the row in a line."""
        documents = f"{self.documents} document{'' if self.documents == 1 else 's'}"
        return (
            f"row {self.row}: {len(self.tokens)} tokens in {documents}, of which {self.counted} count in the loss, and "
            f"{self.padding} of padding"
        )


def samples(rows: Rows, indices: NDArray[np.int64], tokenizer: Tokenizer) -> Iterator[Sample]:
    """Some rows of a data set, decoded.

    Args:
        rows: the data set, with a column `input_ids`.
        indices: int64 [n].
        tokenizer: that with which the rows were made.
    """
    for index in indices.tolist():
        columns = {name: column[0] for name, column in rows[np.array([index])].items()}
        ids = columns["input_ids"]
        labels = columns.get("labels", ids)
        counted = labels != IGNORED
        counted[0] = False  # Nothing stands before it from which it could be foretold.
        positions = columns.get("position_ids", np.arange(len(ids)))
        stands = (ids != rows.padding["input_ids"]) | counted
        size = int(np.flatnonzero(stands)[-1]) + 1 if stands.any() else 0
        texts = _texts(ids[:size].tolist(), tokenizer)
        marks = zip(ids.tolist(), texts, counted.tolist(), (positions == 0).tolist(), strict=False)
        yield Sample(index, tuple(Token(*mark) for mark in marks), len(ids) - size)


def _texts(ids: list[int], tokenizer: Tokenizer) -> list[str]:
    """What each id adds to the text; special tokens are written out."""
    stream = TextStream(tokenizer, skip_special_tokens=False)
    texts = [stream.push(token_id) for token_id in ids]
    if texts:
        texts[-1] += stream.finish()
    return texts
