"""Raw text from files of many forms, for rows of running text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from mf_config.problems import UserError
from mf_config.schema import component, key
from mf_data.document import Document
from mf_data.loader import SeparateTextLoader
from mf_data.loaders.base import ON_BROKEN
from mf_data.loaders.text import TEXT_FIELD, read_text
from mf_data.loaders.tokenized_text import TokenizedTextKeys
from mf_data.rows.blending import BlendedRows
from mf_data.rows.chosen import LaterRows
from mf_data.rows.data_set import Rows
from mf_data.texts.compressed import plain_suffix
from mf_data.texts.data_files import find_files
from mf_data.texts.records import FORMS, OnBroken, converted, read_records, sift, text_in

_SUFFIXES = (".txt", *(f".{form}" for form in FORMS))
_BEFORE = "all text is tokenized before the first step, by the tokenizer's own threads"


@component("data_loader", "TrainingDataLoader")
@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingDataLoader(TokenizedTextKeys):
    """Documents from files: a .txt file is one, each record of another file is one; an epoch has `samples_num` rows.

    Where the text makes fewer rows, they are read again; where it makes more, the first ones are read.
    """

    is_align: bool = key(
        "Join texts into rows; otherwise each text has a row of its own, cut to its length or filled up.",
        True,
    )
    text_col: str = key("The field that holds the text; text where it is empty.", "")
    samples_num: int = key("Rows that an epoch has.", 10000, minimum=1)
    skip_num: int = key("Rows to pass over at the beginning.", 0, minimum=0)
    file_limit: int = key("Files that are held in memory at a time.", 1, minimum=1, inert="files are always streamed")
    process_num: int = key("Processes that tokenize.", 64, minimum=1, inert=_BEFORE)
    on_broken: OnBroken = key(ON_BROKEN, "stop")

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        if self.dataset_name:
            yield "dataset_name", f"there is no reader for {self.dataset_name}", "files with their text in text_col"

    def documents(self) -> Iterator[Document]:
        """The documents, file by file in order of the paths; see `mf_data.loader.DocumentLoader`."""
        text_of = partial(text_in, field=self.text_col or TEXT_FIELD, may_be_empty=True)
        suffixes = _SUFFIXES if self.file_format is None else (f".{self.file_format}",)
        for path in find_files(self.dataset_dir or "", suffixes, "data_loader.dataset_dir"):
            if plain_suffix(path) == ".txt":
                yield read_text(path)
                continue
            for location, text in sift(converted(read_records(path), text_of), self.on_broken):
                yield Document(str(location), text)

    def loaders(self) -> list[SeparateTextLoader]:
        """The one loader of whose rows `mixed` makes an epoch; see `mf_data.loader.MixtureLoader`."""
        return [_AllRows(self)]

    def mixed(self, sources: Sequence[Rows]) -> BlendedRows:
        """The rows of an epoch, as many as the keys say, whatever is there.

        Raises:
            UserError: all rows are to be passed over.
        """
        (rows,) = sources
        if self.skip_num >= len(rows):
            raise UserError(
                f"data_loader.skip_num: {self.skip_num}, but there are {len(rows)} rows. "
                f"Allowed: from 0 to {len(rows) - 1}."
            )
        return BlendedRows([LaterRows(rows, self.skip_num)], [self.samples_num])


@dataclass(frozen=True, slots=True)
class _AllRows:
    """The documents of a loader without its number of rows."""

    loader: TrainingDataLoader
    shuffle: bool = False
    num_samples: None = None

    @property
    def joins_texts(self) -> bool:
        """Whether rows go on over the ends of texts."""
        return self.loader.is_align

    def documents(self) -> Iterator[Document]:
        """The documents."""
        return self.loader.documents()
