"""Tokenizers, corpora and exact, resumable batches for training large language models."""

from mf_data.batches import Batch, Batches
from mf_data.chat.template import ChatTemplate
from mf_data.conversations import Conversation
from mf_data.documents import Document, DocumentLoader, PreparedLoader
from mf_data.indexed_files import IndexedFile
from mf_data.indexed_writer import IndexedWriter
from mf_data.mind_record_files import MindRecordFile
from mf_data.mind_record_writer import MindRecordWriter
from mf_data.mindspore_source import MindSporeSource
from mf_data.opening import open_dataset, open_tokenizer
from mf_data.permutation import Permutation
from mf_data.reading_ahead import ReadAhead, read_ahead
from mf_data.row_settings import RowSettings
from mf_data.rows import Rows
from mf_data.token_rows import TokenRows
from mf_data.tokenizers.base import Tokenizer, token_bytes
from mf_data.tokenizers.loading import load_tokenizer
from mf_data.tokenizers.stream import TextStream

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
