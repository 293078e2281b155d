"""Text of the user's own: a `.txt` file is one document; each record of a `.jsonl` or `.parquet` file is one."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mf_config.problems import ConfigError, Location
from mf_config.schema import component, key
from mf_data.document import Document
from mf_data.loaders.base import ON_BROKEN, LoaderKeys
from mf_data.texts.compressed import lines_of, plain_suffix
from mf_data.texts.data_files import find_files
from mf_data.texts.records import OnBroken, converted, not_utf8, read_records, sift, text_in

TEXT_SUFFIXES = (".jsonl", ".txt", ".parquet")
TEXT_FIELD = "text"
"""Field of a record that holds the document, where no other is asked for."""


@component("data_loader", "TextDataLoader")
@dataclass(frozen=True, slots=True, kw_only=True)
class TextDataLoader(LoaderKeys):
    """Documents from files: a `.txt` file is one, each record of a `.jsonl` or `.parquet` file is one."""

    dataset_dir: str = key(
        "A .txt, .jsonl or .parquet file in UTF-8, also with .gz, .xz or .zst, or a folder of them with its subfolders."
    )
    text_field: str = key("The field of a record that holds the document.", TEXT_FIELD)
    on_broken: OnBroken = key(ON_BROKEN, "stop")

    def documents(self) -> Iterator[Document]:
        """The documents, file by file in order of the paths.

        Raises:
            UserError: the path does not exist or holds no such file; a file is not UTF-8 or, with `on_broken` stop, a
                record has no text (every broken record of a file is named).
        """
        return _documents_of(self)


def _documents_of(loader: TextDataLoader) -> Iterator[Document]:
    for path in find_files(loader.dataset_dir, TEXT_SUFFIXES):
        if plain_suffix(path) == ".txt":
            yield read_text(path)
            continue
        text_of = partial(text_in, field=loader.text_field, may_be_empty=True)
        for location, text in sift(converted(read_records(path), text_of), loader.on_broken):
            yield Document(str(location), text)


def read_text(path: Path) -> Document:
    """A whole file as one document.

    Raises:
        ConfigError: it is not UTF-8; the message names the line.
    """
    content = b"".join(line for _, line in lines_of(path))
    try:
        return Document(str(path), content.decode())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError([not_utf8(Location(str(path), line), error)]) from error
