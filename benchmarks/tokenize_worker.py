"""Tokenizes a corpus of JSON lines: as `mf-data tokenize` does, or by the tokenizers library called directly."""

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

_TEXTS_AT_ONCE = 1000


def main() -> None:
    """Arguments: who works, the corpus, the folder of the tokenizer; prints the measures as one line of JSON."""
    worker, corpus, tokenizer = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    tokens, seconds = {"mf": _with_mf, "tokenizers": _with_library}[worker](corpus, tokenizer)
    measures = {"tokenize_s": seconds, "mb_per_s": corpus.stat().st_size / 1e6 / seconds}
    versions = {name: version(name) for name in ("tokenizers", "mf-data")}
    sys.stdout.write(json.dumps({"measures": measures, "result": tokens, "versions": versions}) + "\n")


def _with_mf(corpus: Path, tokenizer: Path) -> tuple[int, float]:
    """The whole command, from reading to files on the disk; its processes start within the time."""
    from mf_data.progress import silent
    from mf_data.tokenizing.corpus_tokenizing import tokenize_corpus
    from mf_data.tokenizing.tokenize_plan import TokenizePlan

    with tempfile.TemporaryDirectory(dir=corpus.parent) as folder:
        began = time.perf_counter()
        plan = TokenizePlan(inputs=(str(corpus),), tokenizer=str(tokenizer), dtype="uint16", end_token=False)
        made = tokenize_corpus(plan, f"{folder}/out", len(os.sched_getaffinity(0)), silent)
        return made.tokens, time.perf_counter() - began


def _with_library(corpus: Path, tokenizer: Path) -> tuple[int, float]:
    """Batches of texts to ids on all cores, and the ids into a file."""
    import numpy as np
    from tokenizers import Tokenizer

    began = time.perf_counter()
    backend = Tokenizer.from_file(str(tokenizer / "tokenizer.json"))
    tokens = 0
    with tempfile.TemporaryFile(dir=corpus.parent) as file:
        for texts in _batches(corpus):
            for encoding in backend.encode_batch_fast(texts):
                ids = np.array(encoding.ids, np.uint16)
                file.write(ids.tobytes())
                tokens += len(ids)
    return tokens, time.perf_counter() - began


def _batches(corpus: Path) -> Iterator[list[str]]:
    texts: list[str] = []
    with corpus.open("rb") as file:
        for line in file:
            texts.append(json.loads(line)["text"])
            if len(texts) == _TEXTS_AT_ONCE:
                yield texts
                texts = []
    if texts:
        yield texts


if __name__ == "__main__":
    main()
