"""How the answers to one prompt are found."""

from collections.abc import Sequence
from typing import Protocol

from mf_infer.search.answer import Answer
from mf_infer.search.distribution import Floats

Following = list[tuple[int, int]]
"""For each row that goes on: the number of the row that it continues, and its next token."""


class Search(Protocol):
    """Chooses tokens, row by row, until the answers have ended.

    Attributes:
        width: most rows that it grows to.
    """

    width: int

    @property
    def length(self) -> int:
        """Tokens of the longest answer so far."""
        ...

    @property
    def grown(self) -> Sequence[Answer]:
        """Answers, in the order of their numbers; empty while it is open which will be given."""
        ...

    def advance(self, logits: Sequence[Floats]) -> Following:
        """Choose tokens.

        Args:
            logits: of the token after each row: first one row, the prompt, then the rows that were returned.
        Returns:
            The rows that go on; none where all answers have ended.
        """
        ...

    def abort(self) -> None:
        """End all answers where they are."""
        ...
