"""From the sections of a run configuration to a tokenizer and rows: what a trainer calls."""

from collections.abc import Iterable
from typing import Protocol

from mf_data.document import Document
from mf_data.loader import DocumentLoader, Loader, MixtureLoader
from mf_data.progress import Progress, silent
from mf_data.rows.chosen import at_most
from mf_data.rows.data_set import Rows
from mf_data.rows.settings import RowSettings
from mf_data.tokenizers.base import Tokenizer


class TokenizerSection(Protocol):
    """A section of kind `tokenizer`."""

    def open(self, documents: Iterable[Document] | None) -> Tokenizer:
        """Load the tokenizer, or train it on the documents where there are any."""
        ...


class DatasetTask(Protocol):
    """A section of kind `dataset`."""

    def rows(
        self, loader: Loader, tokenizer: Tokenizer, seq_length: int, settings: RowSettings, progress: Progress
    ) -> Rows:
        """Read what the loader gives into rows; arguments as in `open_dataset`."""
        ...


def open_tokenizer(section: TokenizerSection, loader: Loader | None) -> Tokenizer:
    """Load a run's tokenizer, or train it where its section says so.

    Args:
        section: the section `train_dataset.tokenizer`.
        loader: the training text; None in a run that does not train, which needs a tokenizer that is there already. So
            does a loader that reads no plain text.
    Returns:
        The tokenizer.
    Raises:
        UserError: its file is missing, broken or does not fit the section, or the text can't train it.
    """
    return section.open(loader.documents() if isinstance(loader, DocumentLoader) else None)


def open_dataset(
    loader: Loader,
    task: DatasetTask,
    tokenizer: Tokenizer,
    seq_length: int,
    progress: Progress = silent,
    settings: RowSettings | None = None,
) -> Rows:
    """Read a run's data into rows.

    Args:
        loader: the section `train_dataset.data_loader` or `eval_dataset.data_loader`.
        task: the section `train_dataset_task` or `eval_dataset_task`.
        tokenizer: makes the ids.
        seq_length: tokens that the model reads at once.
        progress: called now and then with the bytes of text done so far.
        settings: further keys of the data set's section; their defaults where None.
    Returns:
        The rows, at most `loader.num_samples`.
    Raises:
        UserError: a file is missing or broken, the data fills no row, or the task can't use what the loader gives.
    """
    if isinstance(loader, MixtureLoader):
        sources = [open_dataset(each, task, tokenizer, seq_length, progress, settings) for each in loader.loaders()]
        rows = loader.mixed(sources)
    else:
        rows = task.rows(loader, tokenizer, seq_length, settings or RowSettings(), progress)
    return at_most(rows, loader.num_samples)
