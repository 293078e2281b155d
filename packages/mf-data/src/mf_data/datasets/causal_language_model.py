"""Rows for causal language models: running text cut into windows, ids that were prepared before, or conversations."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_config.schema import component, key
from mf_data.chat.conversation_ids import encode_conversation, template_of
from mf_data.datasets.base import PACKING, PackingMethod, TaskKeys, refuse_loader
from mf_data.document import Document
from mf_data.loader import DocumentLoader, Loader, PreparedLoader, SeparateTextLoader
from mf_data.progress import Progress
from mf_data.rows.data_set import Rows
from mf_data.rows.document_rows import DocumentRows
from mf_data.rows.packing import METHODS
from mf_data.rows.sample_rows import SampleRows
from mf_data.rows.samples import Samples, TooLong, fit
from mf_data.rows.settings import RowSettings
from mf_data.rows.token_roles import end_token, ended, filling
from mf_data.rows.token_rows import TokenRows
from mf_data.texts.conversations import ConversationLoader
from mf_data.tokenizers.base import Tokenizer

_log = logging.getLogger(__name__)

_CHARACTERS_AT_ONCE = 1 << 20
"""Text that is tokenized in one go: enough to keep all cores busy, little enough to hold its ids twice."""


@component("dataset", "CausalLanguageModelDataset")
@dataclass(frozen=True, slots=True, kw_only=True)
class CausalLanguageModelDataset(TaskKeys):
    """Rows of `seq_length + 1` ids.

    Each document of plain text ends with the end token, and rows go on over it, unless the loader keeps texts apart. A
    conversation is a text of its own, and what the assistant says in it counts.
    """

    packing: PackingMethod = key(PACKING, "none")
    too_long: TooLong = key(
        "What becomes of a conversation that is longer than a row: cut its end off, split it, or drop it.", "cut"
    )
    last_turn_only: bool = key("Count the last answer of a conversation alone.", False)

    def rows(
        self, loader: Loader, tokenizer: Tokenizer, seq_length: int, settings: RowSettings, progress: Progress
    ) -> Rows:
        """Read the data, and tokenize it where it is text.

        Args:
            loader: gives prepared ids, documents or conversations.
            tokenizer: makes the ids; special tokens that are written out in a document stay ordinary text. Its chat
                template writes conversations; without one they are written as `USER: … ASSISTANT: …`.
            seq_length: tokens that the model reads at once, from 1.
            settings: `eod_reset` keeps documents apart; `input_columns` chooses columns of prepared ids.
            progress: called now and then with the bytes of text done so far.
        Returns:
            The rows: `input_ids` int32 [n, seq_length + 1] and, where they need them, `labels`, as wide and not
            shifted; with `eod_reset`, and of conversations, also `position_ids` and `segment_ids`.
        Raises:
            UserError: the tokenizer has no end token, or the data fills no row.
        """
        if isinstance(loader, PreparedLoader):
            rows = loader.prepared_rows(seq_length, tokenizer, settings)
        elif isinstance(loader, SeparateTextLoader) and not loader.joins_texts:
            texts = ((ids.tolist(),) * 2 for ids in _encoded(loader, tokenizer, progress))
            return sample_rows(Samples.of(texts), seq_length + 1, "cut", "none", filling(tokenizer))
        elif isinstance(loader, DocumentLoader):
            rows = _text_rows(loader, tokenizer, seq_length, progress)
        elif isinstance(loader, ConversationLoader):
            return self._conversation_rows(loader, tokenizer, seq_length)
        else:
            raise refuse_loader(self, loader)
        if not settings.eod_reset:
            return rows
        end = settings.eod_token_id
        return DocumentRows(rows, end_token(tokenizer) if end is None else end)

    def _conversation_rows(self, loader: ConversationLoader, tokenizer: Tokenizer, seq_length: int) -> SampleRows:
        template = template_of(tokenizer)
        encoded = (
            encode_conversation(each, tokenizer, template, last_turn_only=self.last_turn_only)
            for each in loader.conversations()
        )
        return sample_rows(Samples.of(encoded), seq_length + 1, self.too_long, self.packing, filling(tokenizer))


def sample_rows(samples: Samples, width: int, too_long: TooLong, packing: PackingMethod, pad_id: int) -> SampleRows:
    """Rows of texts with labels; what was cut or left out, and how full the rows are, is logged.

    Args:
        samples: the texts.
        width: tokens of a row.
        too_long: what becomes of a longer text.
        packing: which texts share a row; see `mf_data.rows.packing.METHODS`.
        pad_id: id that fills up a row.
    Raises:
        UserError: nothing is left.
    """
    fitted = fit(samples, width, too_long)
    if not len(fitted.samples):
        raise UserError(
            f"none of {len(samples)} texts has a token that counts within {width} tokens. "
            "Allowed: texts with answers, or a larger seq_length."
        )
    rows = SampleRows(fitted.samples, METHODS[packing](fitted.samples.lengths, width), width, pad_id)
    _log.info(
        "%d texts in %d rows of %d tokens, %.1f %% of them text; %d texts were too long (%s), %d had nothing to learn",
        len(samples),
        len(rows),
        width,
        100 * rows.packing.utilization,
        fitted.too_long,
        too_long,
        fitted.without_target,
    )
    return rows


def _text_rows(loader: DocumentLoader, tokenizer: Tokenizer, seq_length: int, progress: Progress) -> TokenRows:
    width = seq_length + 1
    tokens = np.concatenate([np.zeros(0, dtype=np.int32), *_encoded(loader, tokenizer, progress)])
    rows = TokenRows(tokens, width, pad_id=filling(tokenizer))
    if not len(rows):
        raise UserError(
            f"the text has {len(tokens)} tokens, which fill no row of seq_length + 1 = {width}. "
            "Allowed: more text or a smaller seq_length."
        )
    return rows


def _encoded(loader: DocumentLoader, tokenizer: Tokenizer, progress: Progress) -> Iterator[NDArray[np.int32]]:
    """Ids of each document, int32 [n]: it begins as the tokenizer's rule has it and ends with the end token."""
    done = 0
    eos_id = end_token(tokenizer)
    for texts in _portions(loader.documents()):
        for ids in tokenizer.encode_batch(texts, parse_special_tokens=False):
            yield np.array(ended(ids, eos_id), dtype=np.int32)
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
