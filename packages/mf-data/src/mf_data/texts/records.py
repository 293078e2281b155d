"""Records of data files (JSON lines, JSON lists, tables), each with its place, and what becomes of broken ones."""

import csv
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from mf_config.problems import ConfigError, Location, Problem, UserError, name_values
from mf_config.suggest import nearest
from mf_data.texts.compressed import lines_of, plain_suffix

_log = logging.getLogger(__name__)

_Value = TypeVar("_Value")
Record = Mapping[str, Any]
"""Field name to value, as JSON has it."""

OnBroken = Literal["stop", "skip"]
"""What a broken record does: stop with a message that names it, or be left out, counted and listed at the end."""

Found = tuple[Location, _Value | Problem]
"""A place, and what stands there or what is wrong with it."""

MOST_PROBLEMS = 20
"""Broken records after which reading stops, or after which they are only counted: the file is of another kind."""

_OBJECT = '{"field": "value", …}'
_ROWS_AT_ONCE = 4096


class RecordError(ValueError):
    """A record that can't be used: the field, what is wrong with it, what is allowed, and the nearest name."""

    def __init__(self, field: str, what: str, allowed: str = "", suggestion: str = ""):
        """Takes the parts of the message."""
        super().__init__(f"{field}: {what}")
        self.field, self.what, self.allowed, self.suggestion = field, what, allowed, suggestion


def read_records(path: Path, file_format: str | None = None) -> Iterator[Found[Record]]:
    """The records of a file, in its order; blank lines are none.

    Args:
        path: a file whose name ends in .jsonl, .json, .csv, .tsv or .parquet, perhaps with .gz, .xz or .zst behind it.
        file_format: its form (json, jsonl, csv, tsv or parquet) whatever its name says.
    Yields:
        Each record with its place. A .json file holds a list of objects, or an object a line.
    Raises:
        UserError: the form is not known, or needs a package that is not installed.
        ConfigError: the file as a whole can't be read.
    """
    form = file_format or plain_suffix(path).removeprefix(".")
    if form not in _READERS:
        allowed = name_values(f".{name}" for name in _READERS)
        raise UserError(f"{path}: this kind of file is not read. Allowed: {allowed}, also with .gz, .xz or .zst.")
    yield from _READERS[form](path)


def sift(found: Iterable[Found[_Value]], on_broken: OnBroken) -> Iterator[tuple[Location, _Value]]:
    """The records that are whole.

    Args:
        found: what `read_records` or `converted` gave.
        on_broken: with `stop`, nothing comes after the first broken one, and further ones are looked for to report them
            together; with `skip`, they are left out, and their number is logged with the first of them at the end.
    Yields:
        Each record with its place.
    Raises:
        ConfigError: with `stop`, every broken record (of many, the first ones).
    """
    problems: list[Problem] = []
    count = 0
    for location, value in found:
        count += 1
        if isinstance(value, Problem):
            problems.append(value)
            if on_broken == "stop" and len(problems) == MOST_PROBLEMS:
                break
        elif on_broken == "skip" or not problems:
            yield location, value
    if problems and on_broken == "stop":
        raise ConfigError(problems)
    if problems:
        _log.warning("%s", describe_skipped(problems, count))


def describe_skipped(problems: list[Problem], count: int) -> str:
    """How many of a file's records were left out, and the first of them with their reasons."""
    more = len(problems) - MOST_PROBLEMS
    shown = [str(problem) for problem in problems[:MOST_PROBLEMS]] + ([f"and {more} more"] if more > 0 else [])
    head = f"{problems[0].location.file}: {len(problems)} of {count} records are broken and were skipped:"
    return "\n".join([head, *shown])


def converted(found: Iterable[Found[Record]], convert: Callable[[Record], _Value]) -> Iterator[Found[_Value]]:
    """Turn records into something else; a `RecordError` makes a broken record of one."""
    for location, record in found:
        yield location, record if isinstance(record, Problem) else convert_one(location, record, convert)


def convert_one(location: Location, record: Record, convert: Callable[[Record], _Value]) -> _Value | Problem:
    """What a record becomes, or what is wrong with it."""
    try:
        return convert(record)
    except RecordError as error:
        return Problem(location, error.field, error.what, error.allowed, error.suggestion)


def text_in(record: Record, field: str, *, may_be_empty: bool = False) -> str:
    """A text of a record.

    Args:
        record: where to look.
        field: the name of the text.
        may_be_empty: accept a text without characters, which is a missing one otherwise.
    Raises:
        RecordError: there is no such field, it holds no text or an empty one, or half of a surrogate pair, which JSON
            can escape but which is no character.
    """
    if field not in record:
        raise RecordError(field, "is missing", "an object with this field", nearest(field, record))
    value = record[field]
    if not isinstance(value, str):
        raise RecordError(field, f"{json.dumps(value):.40} is not text", "a string")
    if not may_be_empty and not value.strip():
        raise RecordError(field, "is empty", "text to learn from")
    try:
        # Only text with characters beyond ASCII can hold one.
        if not value.isascii():
            value.encode()
    except UnicodeEncodeError as error:
        raise RecordError(field, f"character {error.start} is half of a surrogate pair", "whole characters") from error
    return value


def parse_line(line: bytes, location: Location) -> Record | Problem:
    """The object of one line, or what is wrong with it."""
    try:
        value = json.loads(line.rstrip().decode())
    except UnicodeDecodeError as error:
        return not_utf8(location, error)
    except json.JSONDecodeError as error:
        return Problem(location, "", f"not JSON ({error.msg.removesuffix(' at')}, column {error.colno})", _OBJECT)
    except (ValueError, RecursionError) as error:  # Python's own limits for long numbers and for deep nesting.
        return Problem(location, "", f"can't be read ({error})", _OBJECT)
    return _object(value, location)


def not_utf8(location: Location, error: UnicodeDecodeError) -> Problem:
    """The problem of text in another encoding."""
    byte = error.object[error.start]
    return Problem(location, "", f"byte 0x{byte:02x} is not UTF-8 ({error.reason})", "text in UTF-8")


def _object(value: Any, location: Location) -> Record | Problem:
    if isinstance(value, dict):
        return value
    return Problem(location, "", f"a JSON {type(value).__name__} is not an object", _OBJECT)


def _read_lines(path: Path) -> Iterator[Found[Record]]:
    for number, line in lines_of(path):
        if line.strip():
            location = Location(str(path), number)
            yield location, parse_line(line, location)


def _read_json(path: Path) -> Iterator[Found[Record]]:
    """A list of objects, or lines of them: the first character decides."""
    first = next((line for _, line in lines_of(path) if line.strip()), b"")
    if not first.lstrip().startswith(b"["):
        yield from _read_lines(path)
        return
    try:
        values = json.loads(b"".join(line for _, line in lines_of(path)).decode())
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError([not_utf8(Location(str(path), line), error)]) from error
    except json.JSONDecodeError as error:
        what = f"not JSON ({error.msg.removesuffix(' at')}, column {error.colno})"
        raise ConfigError([Problem(Location(str(path), error.lineno), "", what, "a list of objects")]) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError([Problem(Location(str(path), 0), "", f"can't be read ({error})")]) from error
    for index, value in enumerate(values):
        location = Location(f"{path}[{index}]", 0)
        yield location, _object(value, location)


def read_table(path: Path, delimiter: str, names: Sequence[str] | None = None) -> Iterator[Found[Record]]:
    """The records of a table, in its order; a cell may go on over several lines.

    Args:
        path: the file.
        delimiter: stands between cells.
        names: of the columns; those of the first line where None.
    Yields:
        Each record with its place.
    Raises:
        ConfigError: the file as a whole can't be read.
    """

    def decoded() -> Iterator[str]:
        for number, line in lines_of(path):
            try:
                yield line.decode()
            except UnicodeDecodeError as error:
                raise ConfigError([not_utf8(Location(str(path), number), error)]) from error

    expected = "the first line" if names is None else f"{len(names)} names"
    table = csv.DictReader(decoded(), names, delimiter=delimiter, strict=True)
    try:
        for row in table:
            location = Location(str(path), table.line_num)
            if None in row or None in row.values():
                yield location, Problem(location, "", f"has another number of cells than {expected}")
            else:
                yield location, row
    except csv.Error as error:
        raise ConfigError([Problem(Location(str(path), table.line_num + 1), "", f"can't be read ({error})")]) from error


def _read_parquet(path: Path) -> Iterator[Found[Record]]:
    try:
        # An extra of the package: only who reads such files needs it.
        import pyarrow.lib
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise UserError(
            f"{path}: .parquet needs the package pyarrow. Allowed: pip install 'mf-data[parquet]'."
        ) from error
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_ROWS_AT_ONCE):
                for row in batch.to_pylist():
                    number += 1
                    yield Location(f"{path}[{number - 1}]", 0), row
    except pyarrow.lib.ArrowException as error:
        raise UserError(f"{path}: can't be read as parquet: {error}") from error


def _read_csv(path: Path) -> Iterator[Found[Record]]:
    return read_table(path, ",")


def _read_tsv(path: Path) -> Iterator[Found[Record]]:
    return read_table(path, "\t")


_READERS: dict[str, Callable[[Path], Iterator[Found[Record]]]] = {
    "jsonl": _read_lines,
    "json": _read_json,
    "csv": _read_csv,
    "tsv": _read_tsv,
    "parquet": _read_parquet,
}
"""Forms of files by their endings."""

FORMS = tuple(_READERS)
"""The forms that are read."""
