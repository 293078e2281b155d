"""One text of a corpus."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """One text that begins and ends by itself: a file, an article, a line of a `.jsonl` file.

    Attributes:
        name: what identifies it within its corpus; the same in every run.
        text: its characters.
    """

    name: str
    text: str
