"""Texts of which each belongs to a class."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mf_data.loader import Loader
from mf_data.texts.records import Record, RecordError, text_in


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text and its class.

    Attributes:
        text: its characters.
        label: number of the class, from 0.
    """

    text: str
    label: int


@runtime_checkable
class LabelledLoader(Loader, Protocol):
    """A loader of texts with classes."""

    def labelled_texts(self) -> Iterator[LabelledText]:
        """The texts, in the same order each time.

        Raises:
            UserError: there is nothing to read, or a record is broken (the message names each).
        """
        ...


def labelled(record: Record, text_field: str, label_field: str) -> LabelledText:
    """The text and the class of a record.

    Args:
        record: the record.
        text_field: the field with the text.
        label_field: the field with the number of the class, which tables hold as text.
    Raises:
        RecordError: a field is missing, or the class is no number from 0.
    """
    text = text_in(record, text_field)
    label = record.get(label_field)
    if isinstance(label, str) and label.isdecimal():
        label = int(label)
    if not isinstance(label, int) or isinstance(label, bool) or label < 0:
        raise RecordError(label_field, f"{label!r} is no class", "an integer from 0")
    return LabelledText(text, label)
