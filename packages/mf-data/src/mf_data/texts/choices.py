"""Questions with several answers to choose from, and rows that a model weighs them by."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mf_data.loader import Loader
from mf_data.rows.data_set import IGNORED, ColumnRows, Columns


@dataclass(frozen=True, slots=True)
class Choice:
    """A question of which one answer is right.

    Attributes:
        subject: what it belongs to; empty for nothing.
        context: the text before the answers.
        answers: the texts that may follow, from two.
        right: number of the right one, from 0.
    """

    subject: str
    context: str
    answers: tuple[str, ...]
    right: int


@runtime_checkable
class ChoiceLoader(Loader, Protocol):
    """A loader of such questions."""

    def choices(self) -> Iterator[Choice]:
        """The questions, in the same order each time.

        Raises:
            UserError: there is nothing to read, or a record is broken (the message names each).
        """
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """The rows of a question: those behind the rows of the one before.

    Attributes:
        subject: what it belongs to; empty for nothing.
        answers: its rows, one an answer.
        right: number of the right one among them, from 0.
    """

    subject: str
    answers: int
    right: int


class ChoiceRows(ColumnRows):
    """Rows in memory, one for each answer of each question.

    Attributes:
        questions: the questions, in the order of their rows.
    """

    def __init__(self, columns: Columns, questions: Sequence[Question], pad_id: int):
        """Takes `input_ids` and `labels` beside them (not shifted), int32 [rows, width] each, and whose rows they are.

        Args:
            columns: the two columns.
            questions: in the order of their rows.
            pad_id: id that fills a row up.
        """
        super().__init__(columns, {"input_ids": pad_id, "labels": IGNORED})
        self.questions = tuple(questions)
