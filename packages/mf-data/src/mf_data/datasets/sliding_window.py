"""Rows for the likelihood of whole documents: windows that overlap, each token counted once."""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.problems import UserError
from mf_config.schema import component, key
from mf_data.datasets.base import TaskKeys, refuse_loader
from mf_data.loader import DocumentLoader, Loader
from mf_data.progress import Progress
from mf_data.rows.settings import RowSettings
from mf_data.rows.token_roles import end_token, filling
from mf_data.rows.window_rows import WindowRows
from mf_data.tokenizers.base import Tokenizer


@component("dataset", "SlidingWindowDataset")
@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingWindowDataset(TaskKeys):
    """Each document alone, in windows that overlap, for evaluation.

    A token counts once, where most of the document stands before it. The model reads the token that begins a text (the
    end token where the tokenizer has no such) before each document, so that its first token counts too.
    """

    window: int | None = key(
        "Tokens that the model reads at once; its seq_length where absent.", None, minimum=1, unit="tokens"
    )
    stride: int | None = key(
        "Tokens from one window to the next; half a window where absent. A whole window lets none overlap.",
        None,
        minimum=1,
        unit="tokens",
    )

    def rows(
        self, loader: Loader, tokenizer: Tokenizer, seq_length: int, settings: RowSettings, progress: Progress
    ) -> WindowRows:
        """Read the documents and cut them.

        Args:
            loader: gives documents.
            tokenizer: makes the ids; special tokens that are written out in a document stay ordinary text.
            seq_length: tokens that the model reads at once, from 1.
            settings: not read.
            progress: called now and then with the bytes of text done so far.
        Returns:
            The rows: `input_ids` and `labels` beside them (not shifted), int32 [n, seq_length + 1].
        Raises:
            UserError: the data is no plain text or has no token, the window is larger than `seq_length`, or the stride
                larger than the window.
        """
        if not isinstance(loader, DocumentLoader):
            raise refuse_loader(self, loader)
        window = self.window or seq_length
        stride = self.stride or max(1, window // 2)
        if window > seq_length:
            raise UserError(f"eval_dataset_task.window: {window} is too long. Allowed: up to seq_length {seq_length}.")
        if stride > window:
            raise UserError(
                f"eval_dataset_task.stride: {stride} would skip tokens. Allowed: up to the window of {window} tokens."
            )
        documents = _encoded(loader, tokenizer, progress)
        rows = WindowRows(documents, seq_length + 1, window, stride, filling(tokenizer))
        if not len(rows):
            raise UserError("the text has no tokens. Allowed: at least one.")
        return rows


def _encoded(loader: DocumentLoader, tokenizer: Tokenizer, progress: Progress) -> Iterator[list[int]]:
    first = end_token(tokenizer) if tokenizer.bos_id is None else tokenizer.bos_id
    done = 0
    for document in loader.documents():
        yield [first, *tokenizer.encode(document.text, add_special_tokens=False, parse_special_tokens=False)]
        done += len(document.text.encode())
        progress(done)
