"""`mf-data validate`."""

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from mf_config.command_line import FAILURE, OK
from mf_config.problems import ConfigError, Problem, UserError
from mf_data.cli.handler_option import handler_named
from mf_data.indexed.files import IndexedFile
from mf_data.loaders.text import read_text
from mf_data.prepared.prepared_files import ids_outside, indexed_prefix, stored_file
from mf_data.texts.compressed import plain_suffix
from mf_data.texts.data_files import find_files
from mf_data.texts.records import FORMS, Record, converted, read_records, text_in
from mf_data.tokenizers.loading import load_tokenizer

_ANY_ID = 2**31


def run(parsed: Namespace) -> int:
    """Print every problem; the status is 1 where there is one."""
    vocab_size = load_tokenizer(parsed.tokenizer).vocab_size if parsed.tokenizer else _ANY_ID
    text_of = partial(text_in, field=parsed.text_field)
    convert = handler_named(parsed.handler) if parsed.handler else text_of
    count = 0
    for name in parsed.input:
        for problem in _problems(name, vocab_size, convert):
            count += 1
            print(json.dumps(problem) if parsed.json else problem["text"])
    if not parsed.json:
        print(f"{count or 'no'} problem{'' if count == 1 else 's'}", file=sys.stderr)
    return FAILURE if count else OK


def _problems(name: str, vocab_size: int, convert: Callable[[Record], Any]) -> Iterator[dict[str, Any]]:
    prefix = indexed_prefix(name)
    try:
        prepared = stored_file(name) if prefix is None else IndexedFile(prefix)
        for sequence, token_id in ids_outside(prepared, vocab_size) if prepared is not None else ():
            yield {
                "file": name,
                "sequence": sequence,
                "text": f"{name}: sequence {sequence} holds the id {token_id}. Allowed: 0 to {vocab_size - 1}.",
            }
    except UserError as error:
        yield {"file": name, "text": str(error)}
        return
    if prepared is None:
        for file in find_files(name, (".txt", *(f".{form}" for form in FORMS)), "INPUT"):
            yield from _problems_of_records(file, convert)


def _problems_of_records(file: Path, convert: Callable[[Record], Any]) -> Iterator[dict[str, Any]]:
    try:
        if plain_suffix(file) == ".txt":
            read_text(file)
            return
        for _, value in converted(read_records(file), convert):
            if isinstance(value, Problem):
                yield {**value.as_json(), "text": str(value)}
    except ConfigError as error:
        yield from ({**problem.as_json(), "text": str(problem)} for problem in error.problems)
