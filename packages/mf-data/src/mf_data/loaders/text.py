"""Text of the user's own: `.txt` files, one document each, and `.jsonl` files, one document a line."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mf_config.problems import ConfigError, Location, Problem, UserError
from mf_config.schema import component, key
from mf_config.suggest import nearest
from mf_data.documents import Document

_SUFFIXES = (".jsonl", ".txt")
_FIELD = "text"
"""Field of a `.jsonl` object that holds the document."""

_EXAMPLE = f'{{"{_FIELD}": "…"}}'

_MOST_PROBLEMS = 20
"""Broken lines after which reading stops: the file is probably of another kind altogether."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@component("data_loader", "TextDataLoader")
@dataclass(frozen=True, slots=True, kw_only=True)
class TextDataLoader:
    """Documents from files: a `.txt` file is one, each line of a `.jsonl` file is one (its field `text`)."""

    dataset_dir: str = key("A .txt or .jsonl file in UTF-8, or a folder of them (its subfolders are read too).")
    shuffle: bool = key("Whether each epoch reads the rows in a new order.", True)
    num_samples: int | None = key(
        "Most rows to use, spread evenly over the text; all where it is absent.", None, minimum=1
    )

    def documents(self) -> Iterator[Document]:
        """The documents, file by file in order of the paths.

        Raises:
            UserError: the path does not exist or holds no such file; a file is not UTF-8 or a line is not an object
                with a `text` (every broken line of a file is named).
        """
        return _documents_of(self)


def _documents_of(loader: TextDataLoader) -> Iterator[Document]:
    for path in _text_files(Path(loader.dataset_dir)):
        if path.suffix == ".txt":
            yield _read_text(path)
        else:
            yield from _read_lines(path)


def _text_files(root: Path) -> list[Path]:
    """The files to read, sorted.

    Raises:
        UserError: there are none.
    """
    if not root.exists():
        near = nearest(root.name, (path.name for path in root.parent.glob("*"))) if root.name else ""
        hint = f" Did you mean {root.parent / near}?" if near else ""
        raise UserError(
            f"dataset_dir: {root} does not exist. Allowed: a .txt or .jsonl file, or a folder of them.{hint}"
        )
    found = [root] if root.is_file() else sorted(path for path in root.rglob("*") if path.is_file())
    files = [path for path in found if path.suffix in _SUFFIXES]
    if not files:
        raise UserError(f"dataset_dir: {root} holds no text. Allowed: a .txt or .jsonl file, or a folder of them.")
    return files


def _read_text(path: Path) -> Document:
    content = path.read_bytes().removeprefix(_BYTE_ORDER_MARK)
    try:
        return Document(str(path), content.decode())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError([_not_utf8(Location(str(path), line), error)]) from error


def _read_lines(path: Path) -> Iterator[Document]:
    """Yield the document of each line that is not blank; after the first broken line, only look for further ones."""
    problems: list[Problem] = []
    with path.open("rb") as file:
        # Lines end at "\n" only: text mode would also split at U+2028, which JSON allows inside a string.
        for number, line in enumerate(file, start=1):
            content = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
            if not content.strip():
                continue
            found = _read_line(content, Location(str(path), number))
            if isinstance(found, Problem):
                problems.append(found)
            elif not problems:
                yield Document(f"{path}:{number}", found)
            if len(problems) == _MOST_PROBLEMS:
                break
    if problems:
        raise ConfigError(problems)


def _read_line(line: bytes, location: Location) -> str | Problem:
    """The text of one line, or what is wrong with it."""
    try:
        row = json.loads(line.decode().strip())
    except UnicodeDecodeError as error:
        return _not_utf8(location, error)
    except json.JSONDecodeError as error:
        return Problem(location, "", f"not JSON ({error.msg.removesuffix(' at')}, column {error.colno})", _EXAMPLE)
    except (ValueError, RecursionError) as error:  # Python's own limits for long numbers and for deep nesting.
        return Problem(location, "", f"can't be read ({error})", _EXAMPLE)
    if not isinstance(row, dict):
        return Problem(location, "", f"a JSON {type(row).__name__} is not an object", _EXAMPLE)
    if _FIELD not in row:
        return Problem(location, _FIELD, "is missing", "an object with this field", nearest(_FIELD, row))
    if not isinstance(row[_FIELD], str):
        return Problem(location, _FIELD, f"{row[_FIELD]!r:.40} is not text", "a string")
    return _encodable(row[_FIELD], location)


def _encodable(text: str, location: Location) -> str | Problem:
    """JSON can escape half of a surrogate pair, which is no character and has no UTF-8 form."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return Problem(location, _FIELD, f"character {error.start} is half of a surrogate pair", "whole characters")
    return text


def _not_utf8(location: Location, error: UnicodeDecodeError) -> Problem:
    return Problem(
        location, "", f"byte 0x{error.object[error.start]:02x} is not UTF-8 ({error.reason})", "text in UTF-8"
    )
