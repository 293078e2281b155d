"""From the sections of a run configuration to a tokenizer and rows: what a trainer calls."""

from collections.abc import Iterable
from typing import Protocol

from mf_data.documents import Document, DocumentLoader
from mf_data.progress import Progress, silent
from mf_data.token_rows import Rows
from mf_data.tokenizers.base import Tokenizer


class TokenizerSection(Protocol):
    """A section of kind `tokenizer`."""

    def open(self, documents: Iterable[Document] | None) -> Tokenizer:
        """Load the tokenizer, or train it on the documents where there are any."""
        ...


class DatasetTask(Protocol):
    """A section of kind `dataset`."""

    def rows(self, loader: DocumentLoader, tokenizer: Tokenizer, seq_length: int, progress: Progress) -> Rows:
        """Read the loader's documents into rows."""
        ...


def open_tokenizer(section: TokenizerSection, loader: DocumentLoader | None) -> Tokenizer:
    """Load a run's tokenizer, or train it where its section says so.

    Args:
        section: the section `train_dataset.tokenizer`.
        loader: the training text; None in a run that does not train, which needs a tokenizer that is there already.
    Returns:
        The tokenizer.
    Raises:
        UserError: its file is missing, broken or does not fit the section, or the text can't train it.
    """
    return section.open(loader.documents() if loader else None)


def open_dataset(
    loader: DocumentLoader, task: DatasetTask, tokenizer: Tokenizer, seq_length: int, progress: Progress = silent
) -> Rows:
    """Read a run's text into rows.

    Args:
        loader: the section `train_dataset.data_loader` or `eval_dataset.data_loader`.
        task: the section `train_dataset_task` or `eval_dataset_task`.
        tokenizer: makes the ids.
        seq_length: tokens that the model reads at once.
        progress: called now and then with the bytes of text done so far.
    Returns:
        The rows, at most `loader.num_samples`.
    Raises:
        UserError: a file is missing or broken, or the text fills no row.
    """
    return task.rows(loader, tokenizer, seq_length, progress)
