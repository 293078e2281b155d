"""`mf-data train-tokenizer`."""

import json
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence

from mf_config.command_line import OK
from mf_config.problems import UserError
from mf_data.cli.text_input import text_loader
from mf_data.loader import DocumentLoader
from mf_data.loaders.python_library import PythonLibraryDataLoader
from mf_data.tokenizers.byte_level_bpe import SMALLEST_VOCABULARY, SpecialTokens, train_byte_level_bpe
from mf_data.tokenizers.tokenizer_json import TOKENIZER_FILE

_PYTHON_LIBRARY = "python-library"


def run(parsed: Namespace) -> int:
    """Train the tokenizer and save it."""
    target = parsed.output / TOKENIZER_FILE
    if target.exists():
        raise UserError(f"--output: {target} exists already. Allowed: a folder without a tokenizer.")
    if parsed.vocab_size < SMALLEST_VOCABULARY:
        raise UserError(f"--vocab-size: {parsed.vocab_size} is too small. Allowed: from {SMALLEST_VOCABULARY}.")
    started = time.perf_counter()
    loaders = [_loader(name) for name in parsed.input]
    tokenizer = train_byte_level_bpe(_texts(loaders), parsed.vocab_size, SpecialTokens())
    tokenizer.save(parsed.output)
    seconds = time.perf_counter() - started
    if parsed.json:
        print(json.dumps({"tokenizer": str(target), "vocab_size": tokenizer.vocab_size, "seconds": round(seconds, 2)}))
    else:
        print(f"{target}: {tokenizer.vocab_size} entries, trained in {seconds:.1f} s")
    return OK


def _texts(loaders: Sequence[DocumentLoader]) -> Iterator[str]:
    for loader in loaders:
        for document in loader.documents():
            yield document.text


def _loader(name: str) -> DocumentLoader:
    return PythonLibraryDataLoader(split="train") if name == _PYTHON_LIBRARY else text_loader(name)
