"""Text for the benchmarks of data: what the Python that runs them has installed, as JSON lines."""

import itertools
import json
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from mf_data.tokenizers.byte_level_bpe import SpecialTokens, train_byte_level_bpe

_TRAINED_ON = 4_000_000
"""Characters from which the tokenizer is made; more take longer and change little."""


def write_corpus(path: Path, megabytes: int) -> None:
    """Write documents, one a line, until the file has this size; they are repeated where there are too few."""
    if path.exists() and path.stat().st_size >= megabytes * 1_000_000:
        return
    sys.stderr.write(f"writing {megabytes} MB of text to {path}\n")
    size = 0
    with path.open("w", encoding="utf-8") as file:
        for text in itertools.cycle(_documents()):
            size += file.write(json.dumps({"text": text}) + "\n")
            if size >= megabytes * 1_000_000:
                return


def make_tokenizer(folder: Path, corpus: Path, vocab_size: int) -> None:
    """Train a byte-level BPE tokenizer on the beginning of a corpus, unless the folder has one."""
    if (folder / "tokenizer.json").exists():
        return
    sys.stderr.write(f"training a tokenizer of {vocab_size} entries\n")
    train_byte_level_bpe(_beginning(corpus), vocab_size, SpecialTokens()).save(folder)


def _beginning(corpus: Path) -> Iterator[str]:
    size = 0
    with corpus.open(encoding="utf-8") as file:
        for line in file:
            text = json.loads(line)["text"]
            size += len(text)
            yield text
            if size > _TRAINED_ON:
                return


def _documents() -> Iterator[str]:
    for root in (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")):
        for path in sorted(Path(root).rglob("*.py")):
            text = path.read_text(encoding="utf-8", errors="ignore")
            if text.strip():
                yield text
