"""What `mf-data tokenize` is to do: pieces of text that do not depend on who works on them."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mf_config.problems import Location, Problem
from mf_data.loaders.text import TEXT_FIELD, TEXT_SUFFIXES, read_text
from mf_data.texts.compressed import lines_of, plain_suffix
from mf_data.texts.data_files import find_files
from mf_data.texts.records import Found, OnBroken, convert_one, converted, parse_line, read_records, text_in

PIECE_BYTES = 2 << 20
"""Text of a piece: part of a second of work, so that all processes end at about the same time, and little is lost when
they are stopped."""

Raw = tuple[Location, bytes | str | Problem]
"""A document and its place: a line that is still to be parsed, a text, or what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizePlan:
    """Everything on which the result depends.

    Attributes:
        inputs: files and folders of text, in the order in which they are read.
        tokenizer: what `load_tokenizer` takes.
        dtype: name of the type in which ids are stored.
        text_field: the field of a record that holds the document.
        on_broken: whether a broken record stops the work or is left out.
        end_token: put the end token behind each document.
        piece_bytes: text of a piece, about.
    """

    inputs: tuple[str, ...]
    tokenizer: str
    dtype: str
    text_field: str = TEXT_FIELD
    on_broken: OnBroken = "stop"
    end_token: bool = True
    piece_bytes: int = PIECE_BYTES

    def files(self) -> list[Path]:
        """The files to read.

        Raises:
            UserError: an input does not exist or holds no text.
        """
        return [path for name in self.inputs for path in find_files(name, TEXT_SUFFIXES, "INPUT")]

    def fingerprint(self) -> dict[str, Any]:
        """The plan as plain data, with sizes and times of all files: pieces made for an equal one can be used again.

        Pieces without broken records are the same whatever such records do.
        """
        place = Path(self.tokenizer)
        own = sorted(path for path in place.iterdir() if path.is_file()) if place.is_dir() else [place]
        stats = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in [*self.files(), *own]]
        plain = {**asdict(self), "inputs": list(self.inputs), "files": [list(stat) for stat in stats]}
        return {name: value for name, value in plain.items() if name != "on_broken"}

    def pieces(self) -> Iterator[list[Raw]]:
        """All documents in pieces of about `piece_bytes`, in the order of the inputs.

        Raises:
            UserError: a file can't be read as a whole.
        """
        piece: list[Raw] = []
        size = 0
        for path in self.files():
            for location, content in self._documents(path):
                piece.append((location, content))
                size += len(content) if isinstance(content, bytes | str) else 0
                if size >= self.piece_bytes:
                    yield piece
                    piece, size = [], 0
        if piece:
            yield piece

    def texts(self, piece: Sequence[Raw]) -> Iterator[Found[str]]:
        """The documents of a piece as text; done by who works on it, since parsing takes time."""
        text_of = partial(text_in, field=self.text_field, may_be_empty=True)
        for location, content in piece:
            if not isinstance(content, bytes):
                yield location, content
                continue
            record = parse_line(content, location)
            yield location, record if isinstance(record, Problem) else convert_one(location, record, text_of)

    def _documents(self, path: Path) -> Iterator[Raw]:
        suffix = plain_suffix(path)
        if suffix == ".txt":
            yield Location(str(path), 0), read_text(path).text
        elif suffix == ".jsonl":
            yield from ((Location(str(path), number), line) for number, line in lines_of(path) if line.strip())
        else:
            yield from converted(read_records(path), partial(text_in, field=self.text_field, may_be_empty=True))
