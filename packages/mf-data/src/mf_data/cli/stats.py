"""`mf-data stats`."""

import json
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import numpy as np

from mf_config.command_line import OK
from mf_data.cli.text_input import text_loader
from mf_data.document import Document
from mf_data.indexed.files import IndexedFile
from mf_data.prepared.prepared_files import indexed_prefix, stored_file
from mf_data.prepared.stored_rows import StoredFile
from mf_data.texts.length_statistics import bars, length_statistics
from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.loading import load_tokenizer

_DOCUMENTS_AT_ONCE = 1000


def run(parsed: Namespace) -> int:
    """Print what the files hold."""
    tokenizer = load_tokenizer(parsed.tokenizer) if parsed.tokenizer else None
    found = {name: _stats(name, tokenizer, parsed.text_field) for name in parsed.input}
    if parsed.json:
        print(json.dumps(found))
        return OK
    for name, numbers in found.items():
        print(name)
        for key, value in numbers.items():
            if not isinstance(value, dict):
                print(f"  {key:<12} {value}")
                continue
            shown = " ".join(f"{part} {number}" for part, number in value.items() if part != "histogram")
            print(f"  {key:<12} {shown}")
            for line in bars(value["histogram"]) if value else ():
                print(f"    {line}")
    return OK


def _stats(name: str, tokenizer: Tokenizer | None, text_field: str) -> dict[str, Any]:
    stored = stored_file(name)
    if stored is not None:
        return _of_stored_rows(stored)
    prefix = indexed_prefix(name)
    if prefix is None:
        return _of_text(text_loader(name, text_field).documents(), tokenizer)
    file = IndexedFile(prefix)
    return {
        "documents": len(file.documents) - 1,
        "sequences": len(file),
        "tokens": len(file.tokens),
        "dtype": file.dtype.name,
        "lengths": length_statistics(file.lengths),
    }


def _of_stored_rows(file: StoredFile) -> dict[str, Any]:
    rows = [{name: len(values) for name, values in file.row(number).items()} for number in range(len(file))]
    lengths = {name: np.array([row[name] for row in rows], np.int64) for name in file.columns}
    return {"rows": len(rows)} | {name: length_statistics(column) for name, column in lengths.items()}


def _of_text(documents: Iterator[Document], tokenizer: Tokenizer | None) -> dict[str, Any]:
    lengths: list[int] = []
    size = 0
    for texts in _portions(documents):
        size += sum(len(text.encode()) for text in texts)
        parts = texts if tokenizer is None else tokenizer.encode_batch(texts, parse_special_tokens=False)
        lengths += map(len, parts)
    unit = "characters" if tokenizer is None else "tokens"
    counts = {"documents": len(lengths), "bytes": size, unit: sum(lengths)}
    return {**counts, "lengths": length_statistics(np.array(lengths, np.int64))}


def _portions(documents: Iterator[Document]) -> Iterator[list[str]]:
    """The texts in lists that are tokenized in one go."""
    texts: list[str] = []
    for document in documents:
        texts.append(document.text)
        if len(texts) == _DOCUMENTS_AT_ONCE:
            yield texts
            texts = []
    if texts:
        yield texts
