"""Rows for pretraining: all documents in one long run of tokens, cut into windows of equal length."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_config.schema import component, key
from mf_data.documents import Document, DocumentLoader
from mf_data.progress import Progress
from mf_data.token_rows import TokenRows
from mf_data.tokenizers.base import Tokenizer

_CHARACTERS_AT_ONCE = 1 << 20
"""Text that is tokenized in one go: enough to keep all cores busy, little enough to hold its ids twice."""


@component("dataset", "CausalLanguageModelDataset")
@dataclass(frozen=True, slots=True, kw_only=True)
class CausalLanguageModelDataset:
    """Rows of `seq_length + 1` ids without regard to where documents end; each document ends with the end token."""

    dataset_config: None = key(
        "The data set's section again, as an alias: *train_dataset or *eval_dataset.",
        None,
        alias_suffix="_task.dataset_config",
    )

    def rows(self, loader: DocumentLoader, tokenizer: Tokenizer, seq_length: int, progress: Progress) -> TokenRows:
        """Read and tokenize all documents.

        Args:
            loader: where the documents come from.
            tokenizer: makes their ids; special tokens that are written out in a document stay ordinary text.
            seq_length: tokens that the model reads at once, from 1.
            progress: called now and then with the bytes of text done so far.
        Returns:
            The rows, one column `input_ids` int32 [n, seq_length + 1].
        Raises:
            UserError: the tokenizer has no end token, or the text fills no row.
        """
        if tokenizer.eos_id is None:
            raise UserError("the tokenizer has no end token (eos_token). Allowed: one that says where documents end.")
        width = seq_length + 1
        pieces = _encoded(loader.documents(), tokenizer, tokenizer.eos_id, progress)
        tokens = np.concatenate([np.zeros(0, dtype=np.int32), *pieces])
        pad_id = tokenizer.eos_id if tokenizer.pad_id is None else tokenizer.pad_id
        rows = TokenRows(tokens, width, pad_id=pad_id, num_samples=loader.num_samples)
        if not len(rows):
            raise UserError(
                f"the text has {len(tokens)} tokens, which fill no row of seq_length + 1 = {width}. "
                "Allowed: more text or a smaller seq_length."
            )
        return rows


def _encoded(
    documents: Iterable[Document], tokenizer: Tokenizer, eos_id: int, progress: Progress
) -> Iterator[NDArray[np.int32]]:
    """Ids of each document, int32 [n]: it begins as the tokenizer's rule has it and ends with the end token."""
    done = 0
    for texts in _portions(documents):
        for ids in tokenizer.encode_batch(texts, parse_special_tokens=False):
            yield np.array(ids if ids[-1:] == [eos_id] else [*ids, eos_id], dtype=np.int32)
        done += sum(len(text.encode()) for text in texts)
        progress(done)


def _portions(documents: Iterable[Document]) -> Iterator[list[str]]:
    """The texts that are not empty, in lists of about `_CHARACTERS_AT_ONCE` characters."""
    texts: list[str] = []
    size = 0
    for document in documents:
        if document.text:
            texts.append(document.text)
            size += len(document.text)
        if size >= _CHARACTERS_AT_ONCE:
            yield texts
            texts, size = [], 0
    if texts:
        yield texts
