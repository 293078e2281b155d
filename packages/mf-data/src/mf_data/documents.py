"""What every corpus is made of: named documents of plain text, and the interface of the loaders that read them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Document:
    """One text that begins and ends by itself: a file, an article, a line of a `.jsonl` file.

    Attributes:
        name: what identifies it within its corpus; the same in every run.
        text: its characters.
    """

    name: str
    text: str


class DocumentLoader(Protocol):
    """A section of kind `data_loader` that reads documents."""

    @property
    def shuffle(self) -> bool:
        """Whether every epoch reads the rows in a new order (`Batches` does it)."""

    @property
    def num_samples(self) -> int | None:
        """Most rows to use, spread evenly over the text; None uses all."""

    def documents(self) -> Iterator[Document]:
        """The documents, in the same order each time.

        Raises:
            UserError: there is nothing to read, or a file is broken.
        """
        ...
