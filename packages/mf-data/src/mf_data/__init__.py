"""Tokenizers, corpora and exact, resumable batches for training large language models."""

from typing import TYPE_CHECKING

from mf_config.on_demand import names_on_demand

if TYPE_CHECKING:
    from mf_data.chat.template import ChatTemplate as ChatTemplate
    from mf_data.document import Document as Document
    from mf_data.indexed.files import IndexedFile as IndexedFile
    from mf_data.indexed.writer import IndexedWriter as IndexedWriter
    from mf_data.loader import DocumentLoader as DocumentLoader
    from mf_data.loader import PreparedLoader as PreparedLoader
    from mf_data.opening import open_dataset as open_dataset
    from mf_data.opening import open_tokenizer as open_tokenizer
    from mf_data.prepared.mind_record_files import MindRecordFile as MindRecordFile
    from mf_data.prepared.mind_record_writer import MindRecordWriter as MindRecordWriter
    from mf_data.reading.batches import Batch as Batch
    from mf_data.reading.batches import Batches as Batches
    from mf_data.reading.mindspore_source import MindSporeSource as MindSporeSource
    from mf_data.reading.reading_ahead import ReadAhead as ReadAhead
    from mf_data.reading.reading_ahead import read_ahead as read_ahead
    from mf_data.rows.data_set import Rows as Rows
    from mf_data.rows.permutation import Permutation as Permutation
    from mf_data.rows.settings import RowSettings as RowSettings
    from mf_data.rows.token_rows import TokenRows as TokenRows
    from mf_data.texts.conversations import Conversation as Conversation
    from mf_data.tokenizers.base import Tokenizer as Tokenizer
    from mf_data.tokenizers.base import token_bytes as token_bytes
    from mf_data.tokenizers.loading import load_tokenizer as load_tokenizer
    from mf_data.tokenizers.stream import TextStream as TextStream

_HOMES = {
    "Batch": "mf_data.reading.batches",
    "Batches": "mf_data.reading.batches",
    "ChatTemplate": "mf_data.chat.template",
    "Conversation": "mf_data.texts.conversations",
    "Document": "mf_data.document",
    "DocumentLoader": "mf_data.loader",
    "IndexedFile": "mf_data.indexed.files",
    "IndexedWriter": "mf_data.indexed.writer",
    "MindRecordFile": "mf_data.prepared.mind_record_files",
    "MindRecordWriter": "mf_data.prepared.mind_record_writer",
    "MindSporeSource": "mf_data.reading.mindspore_source",
    "Permutation": "mf_data.rows.permutation",
    "PreparedLoader": "mf_data.loader",
    "ReadAhead": "mf_data.reading.reading_ahead",
    "RowSettings": "mf_data.rows.settings",
    "Rows": "mf_data.rows.data_set",
    "TextStream": "mf_data.tokenizers.stream",
    "TokenRows": "mf_data.rows.token_rows",
    "Tokenizer": "mf_data.tokenizers.base",
    "load_tokenizer": "mf_data.tokenizers.loading",
    "open_dataset": "mf_data.opening",
    "open_tokenizer": "mf_data.opening",
    "read_ahead": "mf_data.reading.reading_ahead",
    "token_bytes": "mf_data.tokenizers.base",
}

__all__ = [
    "Batch",
    "Batches",
    "ChatTemplate",
    "Conversation",
    "Document",
    "DocumentLoader",
    "IndexedFile",
    "IndexedWriter",
    "MindRecordFile",
    "MindRecordWriter",
    "MindSporeSource",
    "Permutation",
    "PreparedLoader",
    "ReadAhead",
    "RowSettings",
    "Rows",
    "TextStream",
    "TokenRows",
    "Tokenizer",
    "load_tokenizer",
    "open_dataset",
    "open_tokenizer",
    "read_ahead",
    "token_bytes",
]

# Command lines import this package and must not wait for all that it offers.
__getattr__ = names_on_demand(__name__, _HOMES)
