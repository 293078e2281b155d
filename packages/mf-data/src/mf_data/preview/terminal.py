"""Rows on a terminal, in colours or with marks that plain text can show."""

from collections.abc import Iterator
from itertools import groupby

from mf_data.preview.samples import Sample, Token

_COUNTED, _OTHER, _BORDER, _END = "\x1b[32m", "\x1b[2m", "\x1b[33m", "\x1b[0m"
"""Green, dim, yellow, and none of them."""

_MARKS = "\u00ab", "\u00bb"


def as_text(sample: Sample, *, colour: bool) -> str:
    """One row as lines of text.

    Args:
        sample: the row.
        colour: tell by colours what the loss counts; otherwise it stands in quotation marks.
    """
    lines = [sample.summary]
    for number, tokens in enumerate(documents_of(sample), start=1):
        border = f"--- document {number} ---"
        lines.append(f"{_BORDER}{border}{_END}" if colour else border)
        lines.append("".join(_stretch(text, counted, colour) for counted, text in stretches(tokens)))
    return "\n".join(lines) + "\n"


def documents_of(sample: Sample) -> list[list[Token]]:
    """The tokens of each document of a row."""
    documents: list[list[Token]] = []
    for token in sample.tokens:
        if token.begins or not documents:
            documents.append([])
        documents[-1].append(token)
    return documents


def stretches(tokens: list[Token]) -> Iterator[tuple[bool, str]]:
    """Neighbours of which the loss counts all or none: whether it does, and their text."""
    for counted, group in groupby(tokens, lambda token: token.counted):
        yield counted, "".join(token.text for token in group)


def _stretch(text: str, counted: bool, colour: bool) -> str:
    # A control character of the text, which could move the cursor, is written out.
    shown = "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)
    if colour:
        return f"{_COUNTED if counted else _OTHER}{shown}{_END}"
    return f"{_MARKS[0]}{shown}{_MARKS[1]}" if counted else shown
