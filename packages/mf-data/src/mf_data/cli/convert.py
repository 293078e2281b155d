"""`mf-data convert`."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from mf_config.command_line import OK
from mf_config.problems import UserError
from mf_data.cli.handler_option import handler_named
from mf_data.files import written_beside
from mf_data.indexed.files import IndexedFile
from mf_data.indexed.rows import IndexedRows
from mf_data.indexed.writer import IndexedWriter
from mf_data.prepared.mind_record_files import is_mind_record
from mf_data.prepared.mind_record_writer import MindRecordWriter
from mf_data.prepared.prepared_files import indexed_prefix, stored_file
from mf_data.prepared.stored_rows import StoredFile
from mf_data.texts.conversations import Conversation
from mf_data.texts.data_files import find_files
from mf_data.texts.records import FORMS, OnBroken, converted, read_records, sift

_IDS = "input_ids"
_LINES = ".jsonl"
_ROWS_AT_ONCE = 256
_RECORD_SUFFIXES = tuple(f".{form}" for form in FORMS)


def run(parsed: Namespace) -> int:
    """Write the source in the other form."""
    if parsed.seq_length is not None and parsed.seq_length < 1:
        raise UserError(f"--seq-length: {parsed.seq_length} is out of range. Allowed: from 1.")
    source, target, prefix = Path(parsed.source), parsed.target, indexed_prefix(parsed.source)
    stored = stored_file(parsed.source)
    if target.endswith(_LINES) and stored is None and prefix is None:
        count = _to_lines(source, Path(target), parsed.handler, parsed.on_broken)
    elif prefix is not None and is_mind_record(target):
        count = _indexed_to_mind_record(IndexedFile(prefix), target, parsed.seq_length)
    elif stored is None and prefix is None and not source.exists():
        raise UserError(f"{source} does not exist. Allowed: what mf-data convert --help names.")
    elif stored is None:
        raise UserError(
            f"{source} can't be turned into {target}. Allowed: .bin and .idx files into MindRecord; MindRecord and "
            f"TFRecord files into either; records into a name that ends in {_LINES}."
        )
    elif parsed.seq_length is not None:
        raise UserError("--seq-length: stored rows stay as they are. Allowed: without this option.")
    else:
        count = _to_mind_record(stored, target) if is_mind_record(target) else _to_indexed(stored, target)
    print(f"{target}: {count} rows")
    return OK


def _indexed_to_mind_record(file: IndexedFile, target: str, seq_length: int | None) -> int:
    with MindRecordWriter(target, [_IDS]) as writer:
        if seq_length is None:
            for number in range(len(file)):
                writer.add({_IDS: file[number]})
            return len(file)
        rows = IndexedRows(file, seq_length)
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            for ids in rows[np.arange(start, min(start + _ROWS_AT_ONCE, len(rows)))][_IDS]:
                writer.add({_IDS: ids})
        return len(rows)


def _to_mind_record(file: StoredFile, target: str) -> int:
    with MindRecordWriter(target, list(file.columns)) as writer:
        for number in range(len(file)):
            writer.add(file.row(number))
    return len(file)


def _to_indexed(file: StoredFile, target: str) -> int:
    if set(file.columns) != {_IDS}:
        columns = ", ".join(file.columns)
        raise UserError(
            f"{file.path}: has the columns {columns}. Allowed: {_IDS} alone; an indexed file holds no others."
        )
    with IndexedWriter(target, np.int32) as writer:
        for number in range(len(file)):
            writer.add_document([file.row(number)[_IDS]])
    return len(file)


def _to_lines(source: Path, target: Path, handler: str | None, on_broken: OnBroken) -> int:
    convert = dict if handler is None else handler_named(handler)
    count = 0
    with written_beside(target) as file:
        for path in find_files(source, _RECORD_SUFFIXES, "SOURCE"):
            for _, value in sift(converted(read_records(path), convert), on_broken):
                written = _as_record(value) if isinstance(value, Conversation) else value
                file.write(json.dumps(written, ensure_ascii=False).encode() + b"\n")
                count += 1
    return count


def _as_record(conversation: Conversation) -> dict[str, Any]:
    """A conversation as a record that `MessagesDataHandler` reads."""
    tools = {"tools": list(conversation.tools)} if conversation.tools else {}
    return {"messages": [dict(message) for message in conversation.messages], **tools}
