"""What the loaders of files of prepared rows have in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from mf_config.problems import UserError
from mf_config.schema import key
from mf_data.loaders.base import ShardedKeys
from mf_data.prepared.stored_rows import StoredFile, StoredRows
from mf_data.rows.row_order import Shuffle
from mf_data.rows.settings import RowSettings
from mf_data.tokenizers.base import Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFileKeys(ShardedKeys, ABC):
    """Which files and which of their columns."""

    shuffle: Shuffle = key(
        "Whether each epoch reads the rows in a new order: all of them (True or global), the files one after another, "
        "each in its own order (files), or the rows of each file (infile).",
        True,
    )
    dataset_dir: str | None = key("A file of prepared rows, or a folder of such files.", None)
    dataset_files: str | tuple[str, ...] | None = key("A file or a list of files, instead of dataset_dir.", None)
    columns_list: tuple[str, ...] | None = key(
        "The columns to read; input_columns where it is absent, else those of input_ids, labels and attention_mask "
        "that the files have.",
        None,
    )
    num_parallel_workers: int | None = key(
        "Threads that read.", None, minimum=1, inert="num_parallel_workers of the data set's section counts"
    )

    @abstractmethod
    def stored_files(self) -> Sequence[StoredFile]:
        """The files, open.

        Raises:
            UserError: no file is named, or one is missing or damaged.
        """

    def columns(self, settings: RowSettings) -> Sequence[str] | None:
        """The columns to read; None for those that are there."""
        return settings.input_columns if self.columns_list is None else self.columns_list

    def prepared_rows(self, seq_length: int, tokenizer: Tokenizer, settings: RowSettings) -> StoredRows:
        """The rows; see `mf_data.loader.PreparedLoader`."""
        return StoredRows(self.stored_files(), seq_length, tokenizer, self.columns(settings), settings.vocab_size)

    def places(self) -> list[tuple[str, str]]:
        """The files and folders to read, each with the key that names it.

        Raises:
            UserError: there is none.
        """
        if self.dataset_files is not None:
            names = (self.dataset_files,) if isinstance(self.dataset_files, str) else self.dataset_files
            return [(name, "data_loader.dataset_files") for name in names]
        if not self.dataset_dir:
            raise UserError(
                "data_loader.dataset_dir: is missing. Allowed: a file of prepared rows or a folder of them."
            )
        return [(self.dataset_dir, "data_loader.dataset_dir")]
