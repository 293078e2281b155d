"""Tokenizers, corpora and exact, resumable batches for training large language models."""

from mf_data.batches import Batch, Batches
from mf_data.documents import Document, DocumentLoader
from mf_data.opening import open_dataset, open_tokenizer
from mf_data.token_rows import Rows, TokenRows
from mf_data.tokenizers.base import Tokenizer, token_bytes
from mf_data.tokenizers.byte_level import load_tokenizer
from mf_data.tokenizers.stream import TextStream

__all__ = [
    "Batch",
    "Batches",
    "Document",
    "DocumentLoader",
    "Rows",
    "TextStream",
    "TokenRows",
    "Tokenizer",
    "load_tokenizer",
    "open_dataset",
    "open_tokenizer",
    "token_bytes",
]
