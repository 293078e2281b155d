"""Tokenizes text into an indexed file, in several processes, and goes on where an interrupted run stopped.

The text is cut into pieces by its own order alone. Each piece becomes a small pair of files beside the target, whoever
makes it, and these are joined in their order: the result is the same for any number of processes, and for a run that
was interrupted.
"""

import json
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from mf_config.problems import ConfigError, Problem, UserError
from mf_data.files import write_atomically
from mf_data.indexed.files import IndexedFile, data_path
from mf_data.indexed.writer import IndexedWriter, check_free
from mf_data.progress import Progress
from mf_data.rows.token_roles import end_token, ended
from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.loading import load_tokenizer
from mf_data.tokenizing.tokenize_plan import Raw, TokenizePlan

_PLAN_FILE = "plan.json"
_WAITING = 2
"""Pieces for each process that are read ahead."""


@dataclass(frozen=True, slots=True)
class Tokenized:
    """What was made.

    Attributes:
        documents: how many, empty ones left out.
        tokens: all of their ids, end tokens included.
        text_bytes: UTF-8 bytes of the text.
        skipped: a line for each broken record that was left out.
    """

    documents: int
    tokens: int
    text_bytes: int
    skipped: tuple[str, ...]


def tokenize_corpus(plan: TokenizePlan, prefix: str, workers: int, progress: Progress) -> Tokenized:
    """Tokenize a corpus into `PREFIX.bin` and `PREFIX.idx`.

    Args:
        plan: what to tokenize, and how.
        prefix: path of the result, without `.bin` and `.idx`. Pieces are kept in the folder `PREFIX.parts` meanwhile.
        workers: processes that tokenize, from 1.
        progress: called now and then with the bytes of text done so far.
    Returns:
        How much was made.
    Raises:
        UserError: there is a file in the place of the result already, pieces of another plan lie beside it, a file
            can't be read, or a record is broken and `plan.on_broken` is stop.
        OSError: the disk is full, or a process ended unexpectedly; a further run goes on where this one stopped.
    """
    check_free(prefix)
    folder = Path(f"{prefix}.parts")
    _check_plan(plan, folder)
    parts: list[Path] = []
    documents = tokens = done = 0
    skipped: list[str] = []
    for part in _make_parts(plan, folder, workers):
        parts.append(part)
        summary = json.loads(_summary_path(part).read_text(encoding="utf-8"))
        documents, tokens = documents + summary["documents"], tokens + summary["tokens"]
        if summary["skipped"] and plan.on_broken == "stop":
            raise UserError("\n".join(summary["skipped"]))
        skipped += summary["skipped"]
        done += summary["text_bytes"]
        progress(done)
    if not documents:
        raise UserError("the inputs hold no text. Allowed: at least one document that is not empty.")
    with IndexedWriter(prefix, np.dtype(plan.dtype)) as writer:
        for part in parts:
            file = IndexedFile(part)
            writer.add_documents(file.tokens, file.lengths)
    shutil.rmtree(folder)
    return Tokenized(documents, tokens, done, tuple(skipped))


def _check_plan(plan: TokenizePlan, folder: Path) -> None:
    """Make the folder of pieces, or see that finished ones that lie in it were made by an equal plan."""
    fingerprint = plan.fingerprint()
    file = folder / _PLAN_FILE
    if not any(folder.glob("0*.json")):
        write_atomically(file, json.dumps(fingerprint, ensure_ascii=False, indent=1).encode())
    elif json.loads(file.read_text(encoding="utf-8")) != fingerprint:
        raise UserError(
            f"{folder}: holds pieces of a run with other inputs, options or tokenizer. "
            "Allowed: the same ones, to go on with it; or delete that folder."
        )


def _make_parts(plan: TokenizePlan, folder: Path, workers: int) -> Iterator[Path]:
    """The pieces in their order, each made now or before."""
    if workers == 1:
        work = _Work(plan)
        for part, piece in _numbered(plan, folder):
            if not _summary_path(part).exists():
                _raise_on(work.make(piece, part))
            yield part
        return
    # Forked, for a process that is started anew takes half a second until it has loaded what it needs.
    with ProcessPoolExecutor(workers, get_context("fork"), _start_worker, (plan,)) as pool:
        waiting: deque[tuple[Path, Future[list[Problem]] | None]] = deque()
        try:
            for part, piece in _numbered(plan, folder):
                made = _summary_path(part).exists()
                waiting.append((part, None if made else pool.submit(_make_in_worker, piece, part)))
                while len(waiting) > _WAITING * workers:
                    yield _finished(*waiting.popleft())
            while waiting:
                yield _finished(*waiting.popleft())
        except BrokenProcessPool as error:
            raise OSError("a process ended unexpectedly; the same command goes on where this one stopped") from error
        finally:
            pool.shutdown(cancel_futures=True)


def _numbered(plan: TokenizePlan, folder: Path) -> Iterator[tuple[Path, list[Raw]]]:
    for number, piece in enumerate(plan.pieces()):
        yield folder / f"{number:08d}", piece


def _finished(part: Path, future: "Future[list[Problem]] | None") -> Path:
    if future is not None:
        _raise_on(future.result())
    return part


def _raise_on(problems: list[Problem]) -> None:
    if problems:
        raise ConfigError(problems)


def _summary_path(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


class _Work:
    """What one process needs to make pieces."""

    def __init__(self, plan: TokenizePlan):
        self._plan = plan
        self._tokenizer: Tokenizer = load_tokenizer(plan.tokenizer)
        self._end = end_token(self._tokenizer) if plan.end_token else None

    def make(self, piece: list[Raw], part: Path) -> list[Problem]:
        """Write a piece, its summary last; or return what is wrong, where that stops the work."""
        found = [value for _, value in self._plan.texts(piece)]
        problems = [value for value in found if isinstance(value, Problem)]
        if problems and self._plan.on_broken == "stop":
            return problems
        texts = [value for value in found if isinstance(value, str) and value]
        encoded = self._tokenizer.encode_batch(texts, parse_special_tokens=False)
        data_path(part).unlink(missing_ok=True)
        part.with_name(f"{part.name}.idx").unlink(missing_ok=True)
        documents = [ids if self._end is None else ended(ids, self._end) for ids in encoded]
        with IndexedWriter(part, np.dtype(self._plan.dtype)) as writer:
            for ids in documents:
                writer.add_document([ids])
        summary = {
            "documents": len(documents),
            "tokens": sum(map(len, documents)),
            "text_bytes": sum(len(text.encode()) for text in texts),
            "skipped": [str(problem) for problem in problems],
        }
        write_atomically(_summary_path(part), json.dumps(summary).encode())
        return []


_make: list[Callable[[list[Raw], Path], list[Problem]]] = []
"""In a worker process, what makes a piece; the interface of process pools leaves no other place for it."""


def _start_worker(plan: TokenizePlan) -> None:
    # Each process has a piece of its own; further threads in it would only take the cores from one another.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    _make.append(_Work(plan).make)


def _make_in_worker(piece: list[Raw], part: Path) -> list[Problem]:
    return _make[0](piece, part)
