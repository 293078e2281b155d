"""The interfaces of the loaders of data sets: texts, rows prepared before, mixtures."""

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from mf_data.document import Document
from mf_data.rows.data_set import Rows
from mf_data.rows.row_order import Shuffle
from mf_data.rows.settings import RowSettings
from mf_data.tokenizers.base import Tokenizer


class Loader(Protocol):
    """What every section of kind `data_loader` has; how its data is read, one of the interfaces below says."""

    @property
    def shuffle(self) -> Shuffle:
        """Whether every epoch reads the rows in a new order, and which of them (`Batches` does it)."""

    @property
    def num_samples(self) -> int | None:
        """Most rows to use, spread evenly over the data; None uses all."""


@runtime_checkable
class DocumentLoader(Loader, Protocol):
    """A loader of plain text."""

    def documents(self) -> Iterator[Document]:
        """The documents, in the same order each time.

        Raises:
            UserError: there is nothing to read, or a file is broken.
        """
        ...


@runtime_checkable
class SeparateTextLoader(DocumentLoader, Protocol):
    """A loader of plain text that may keep each text in a row of its own."""

    @property
    def joins_texts(self) -> bool:
        """Whether rows go on over the ends of texts, as those of other loaders do."""


@runtime_checkable
class PreparedLoader(Loader, Protocol):
    """A loader of token ids that were made before."""

    def prepared_rows(self, seq_length: int, tokenizer: Tokenizer, settings: RowSettings) -> Rows:
        """Rows of stored ids.

        Args:
            seq_length: tokens that the model reads at once, from 1.
            tokenizer: that with which the ids were made; one that it does not know is refused with its row.
            settings: `input_columns` says which stored columns to read.
        Returns:
            The rows, with a column `input_ids`, int32 [n, seq_length + 1], and perhaps `labels` beside it.
        Raises:
            UserError: a file is missing or broken, or fills no row.
        """
        ...


@runtime_checkable
class MixtureLoader(Loader, Protocol):
    """A loader that mixes the rows of others."""

    def loaders(self) -> Sequence[Loader]:
        """The loaders to mix."""
        ...

    def mixed(self, sources: Sequence[Rows]) -> Rows:
        """The mixture of the rows of these loaders.

        Raises:
            UserError: they can't be mixed, or there are too few.
        """
        ...
