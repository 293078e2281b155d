"""The command line `mf-data`."""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from mf_config.command_line import OK, Command, run_command_line
from mf_config.problems import UserError
from mf_data.documents import DocumentLoader
from mf_data.loaders.python_library import PythonLibraryDataLoader
from mf_data.loaders.text import TextDataLoader
from mf_data.tokenizers.byte_level import TOKENIZER_FILE
from mf_data.tokenizers.byte_level_bpe import SMALLEST_VOCABULARY, SpecialTokens, train_byte_level_bpe

_PYTHON_LIBRARY = "python-library"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Args:
        arguments: the words after the program's name; those of the process where None.
    Returns:
        The exit status.
    """
    commands = [Command("train-tokenizer", "Train a byte-level BPE tokenizer.", _add_train_tokenizer, _train_tokenizer)]
    return run_command_line("mf-data", "Text to what a language model trains on.", commands, arguments)


def _add_train_tokenizer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input",
        nargs="+",
        metavar="INPUT",
        help=f"a .txt or .jsonl file, a folder of them, or the word {_PYTHON_LIBRARY} (text that comes with Python)",
    )
    parser.add_argument("--vocab-size", type=int, required=True, metavar="N", help="entries, special tokens included")
    parser.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help=f"folder that {TOKENIZER_FILE} goes to"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _train_tokenizer(parsed: argparse.Namespace) -> int:
    target = parsed.output / TOKENIZER_FILE
    if target.exists():
        raise UserError(f"--output: {target} exists already. Allowed: a folder without a tokenizer.")
    if parsed.vocab_size < SMALLEST_VOCABULARY:
        raise UserError(f"--vocab-size: {parsed.vocab_size} is too small. Allowed: from {SMALLEST_VOCABULARY}.")
    started = time.perf_counter()
    tokenizer = train_byte_level_bpe(_texts(parsed.input), parsed.vocab_size, SpecialTokens())
    tokenizer.save(parsed.output)
    seconds = time.perf_counter() - started
    if parsed.json:
        print(json.dumps({"tokenizer": str(target), "vocab_size": tokenizer.vocab_size, "seconds": round(seconds, 2)}))
    else:
        print(f"{target}: {tokenizer.vocab_size} entries, trained in {seconds:.1f} s")
    return OK


def _texts(inputs: Sequence[str]) -> Iterator[str]:
    for name in inputs:
        for document in _loader(name).documents():
            yield document.text


def _loader(name: str) -> DocumentLoader:
    return PythonLibraryDataLoader(split="train") if name == _PYTHON_LIBRARY else TextDataLoader(dataset_dir=name)
