"""Token ids in Megatron's indexed form: a `.bin` file of ids with an `.idx` file that says where sequences begin."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mf_config.problems import UserError
from mf_config.schema import component, key
from mf_data.indexed.files import IndexedFile
from mf_data.indexed.rows import IndexedRows, split_documents
from mf_data.loaders.base import ShardedKeys
from mf_data.rows.settings import RowSettings
from mf_data.rows.token_roles import filling
from mf_data.tokenizers.base import Tokenizer

_PARTS = ("train", "valid", "test")


@component("data_loader", "IndexedDataLoader")
@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedDataLoader(ShardedKeys):
    """Rows from a pair of `.bin` and `.idx` files, over the ends of documents.

    Where every stored sequence has `seq_length + 1` ids, each is one row.
    """

    path_prefix: str | None = key("Path of both files, without .bin and .idx.", None)
    shuffle: bool = key("Whether each epoch reads the rows in a new order.", False)
    split: str | None = key(
        "Shares of the documents for training, validation and test, such as 949,50,1; all are used where absent.", None
    )
    part: Literal["train", "valid", "test"] = key("Which share of split to read.", "train", needs="split")
    column_names: tuple[str, ...] = key(
        "The columns that a row has.", ("input_ids",), inert="the files hold one column, the ids"
    )
    # MindFormers spells this key so.
    mutilmodal: bool = key(
        "Whether the index also holds a mode for each sequence.", False, pending="sequences with modes are not read"
    )
    mmap: bool = key(
        "Map the files into memory instead of reading them.", True, inert="the files are always mapped into memory"
    )
    return_in_generator: bool = key(
        "Give the rows out as a generator.", True, inert="rows are read by number, whatever holds them"
    )

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        if self.split is not None:
            try:
                split_documents(self.split, 0)
            except UserError:
                yield "split", f"{self.split} is no list of shares", "up to three numbers, such as 949,50,1"

    def prepared_rows(self, seq_length: int, tokenizer: Tokenizer, settings: RowSettings) -> IndexedRows:
        """The rows; see `mf_data.loader.PreparedLoader`."""
        if not self.path_prefix:
            raise UserError("data_loader.path_prefix: is missing. Allowed: a path without .bin and .idx.")
        file = IndexedFile(self.path_prefix)
        documents = None
        if self.split is not None:
            documents = split_documents(self.split, len(file.documents) - 1)[_PARTS.index(self.part)]
        vocab_size = settings.vocab_size or tokenizer.vocab_size
        return IndexedRows(file, seq_length, documents=documents, vocab_size=vocab_size, pad_id=filling(tokenizer))
