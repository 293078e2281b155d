"""`mf-data convert`."""

import argparse
from pathlib import Path

import numpy as np

from mf_config.command_line import OK
from mf_config.problems import UserError
from mf_data.indexed_files import IndexedFile
from mf_data.indexed_rows import IndexedRows
from mf_data.indexed_writer import IndexedWriter
from mf_data.mind_record_files import MIND_RECORD_ENDING, MindRecordFile, is_mind_record
from mf_data.mind_record_writer import MindRecordWriter
from mf_data.prepared_files import indexed_prefix

_IDS = "input_ids"
_ROWS_AT_ONCE = 256


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    ending = f"one that ends in .{MIND_RECORD_ENDING} for a MindRecord file"
    parser.add_argument("source", metavar="SOURCE", help="prefix of .bin and .idx files, or a MindRecord file")
    parser.add_argument("target", metavar="TARGET", help=f"prefix of .bin and .idx files, or {ending}")
    parser.add_argument(
        "--seq-length",
        type=int,
        metavar="N",
        help="join all ids into rows of N + 1; each sequence is a row by default (only from .bin and .idx)",
    )


def run(parsed: argparse.Namespace) -> int:
    """Write the source in the other form."""
    prefix = indexed_prefix(parsed.source)
    if is_mind_record(parsed.source) and not is_mind_record(parsed.target):
        if parsed.seq_length is not None:
            raise UserError("--seq-length: rows of a MindRecord file stay as they are. Allowed: without this option.")
        count = _to_indexed(MindRecordFile(Path(parsed.source)), parsed.target)
    elif prefix is not None and is_mind_record(parsed.target):
        if parsed.seq_length is not None and parsed.seq_length < 1:
            raise UserError(f"--seq-length: {parsed.seq_length} is out of range. Allowed: from 1.")
        count = _to_mind_record(IndexedFile(prefix), parsed.target, parsed.seq_length)
    else:
        raise UserError(
            f"{parsed.source} can't be turned into {parsed.target}. Allowed: a prefix of .bin and .idx files and a "
            f"path that ends in .{MIND_RECORD_ENDING}, either way round."
        )
    print(f"{parsed.target}: {count} rows")
    return OK


def _to_mind_record(file: IndexedFile, target: str, seq_length: int | None) -> int:
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


def _to_indexed(file: MindRecordFile, target: str) -> int:
    if set(file.columns) != {_IDS}:
        columns = ", ".join(file.columns)
        raise UserError(
            f"{file.path}: has the columns {columns}. Allowed: {_IDS} alone; an indexed file holds no others."
        )
    with IndexedWriter(target, np.int32) as writer:
        for number in range(len(file)):
            writer.add_document([file.row(number)[_IDS]])
    return len(file)
