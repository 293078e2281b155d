"""From files of records to conversations, by a handler: what the loaders of conversations have in common."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from mf_config.problems import UserError
from mf_data.texts.records import OnBroken, Record, converted, read_records, sift

_Value = TypeVar("_Value")


def read_converted(
    files: Sequence[Path], convert: Callable[[Record], _Value], on_broken: OnBroken, file_format: str | None = None
) -> Iterator[_Value]:
    """The records of some files, each turned into something else.

    Args:
        files: in the order in which they are read.
        convert: mostly a handler's method; raises `RecordError` for a record that it can't use.
        on_broken: whether a broken record stops the reading or is left out, counted and listed.
        file_format: the files' form; taken from their names where None.
    Yields:
        What each record became.
    Raises:
        UserError: no record can be used, or with `on_broken` stop, one can't (each of its file is named).
    """
    empty = True
    for path in files:
        for _, value in sift(converted(read_records(path, file_format), convert), on_broken):
            empty = False
            yield value
    if empty:
        names = ", ".join(str(path) for path in files)
        raise UserError(f"{names}: no record can be used. Allowed: at least one.")
