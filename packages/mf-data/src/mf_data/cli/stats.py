"""`mf-data stats`."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from mf_config.command_line import OK
from mf_config.problems import UserError
from mf_data.indexed_files import IndexedFile
from mf_data.mind_record_files import MindRecordFile, is_mind_record
from mf_data.prepared_files import indexed_prefix


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("input", nargs="+", metavar="INPUT", help="prefix of .bin and .idx files, or a MindRecord file")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(parsed: argparse.Namespace) -> int:
    """Print what the files hold."""
    found = {name: _stats(name) for name in parsed.input}
    if parsed.json:
        print(json.dumps(found))
        return OK
    for name, numbers in found.items():
        print(name)
        for key, value in numbers.items():
            print(f"  {key:<12} {value}")
    return OK


def _stats(name: str) -> dict[str, Any]:
    if is_mind_record(name):
        records = MindRecordFile(Path(name))
        rows = [records.row(number) for number in range(len(records))]
        ids = {column: [len(row[column]) for row in rows] for column in records.columns}
        return {"rows": len(rows)} | {column: _lengths(np.array(lengths)) for column, lengths in ids.items()}
    prefix = indexed_prefix(name)
    if prefix is None:
        raise UserError(f"{name}: no prepared data. Allowed: a prefix of .bin and .idx files, or a MindRecord file.")
    file = IndexedFile(prefix)
    return {
        "documents": len(file.documents) - 1,
        "sequences": len(file),
        "tokens": len(file.tokens),
        "dtype": file.dtype.name,
        "lengths": _lengths(np.asarray(file.lengths)),
    }


def _lengths(lengths: np.ndarray[Any, np.dtype[np.int64]]) -> dict[str, float]:
    if not len(lengths):
        return {}
    return {
        "min": int(lengths.min()),
        "median": float(np.median(lengths)),
        "mean": round(float(lengths.mean()), 1),
        "max": int(lengths.max()),
    }
