"""The corpus that every Python installation carries: its language reference as prose, its standard library as code.

It needs no download, so examples and tests can train on real text anywhere. The bytes depend on the version of Python
only, not on the working directory or the virtual environment.
"""

import hashlib
import sys
import sysconfig
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from pydoc_data.topics import topics

from mf_config.problems import UserError
from mf_config.schema import component, key
from mf_data.document import Document
from mf_data.loaders.base import LoaderKeys

_SKIPPED = frozenset(
    {
        # Distributions package these apart or leave them out.
        *("test", "tests", "idle_test", "idlelib", "lib2to3", "tkinter", "turtledemo", "ensurepip", "distutils"),
        # Installed by others, or tables rather than text, or taken from `topics` already.
        *("site-packages", "__pycache__", "encodings", "pydoc_data"),
    }
)
"""Names of modules and folders that are not part of the corpus."""

_LONG_LINE = 40
"""Characters from which a repeated line is taken for repeated text, not for a common phrase (`return None`)."""

_EVAL_SHARE = 0.05
"""Part of the documents that is held out for evaluation."""


@component("data_loader", "PythonLibraryDataLoader")
@dataclass(frozen=True, slots=True, kw_only=True)
class PythonLibraryDataLoader(LoaderKeys):
    """Documents from the running Python: each topic of its language reference, each module of its standard library."""

    split: str = key(
        "Which documents to read: train, or the twentieth of them that train leaves out (by a hash of the name): eval.",
        "train",
        allowed=("train", "eval"),
    )

    def documents(self) -> Iterator[Document]:
        """The documents of the split, in order of their names.

        Raises:
            UserError: this Python carries no library text.
        """
        return _documents_of(self)


def _documents_of(loader: PythonLibraryDataLoader) -> Iterator[Document]:
    held_out = loader.split == "eval"
    found = [document for document in _without_repetitions(_collect()) if _is_held_out(document.name) == held_out]
    if not found:
        raise UserError(
            f"{sysconfig.get_path('stdlib')}: this Python carries no source text of its library. "
            "Allowed: a Python with its .py files, or a TextDataLoader with text of your own."
        )
    yield from found


def _collect() -> Iterator[Document]:
    """All topics and modules; a module that this installation lacks is passed over."""
    for name, text in topics.items():
        yield Document(f"topic/{name}", text)
    library = Path(sysconfig.get_path("stdlib"))
    for path in _module_files(library):
        # tokenize.open honours a coding line and makes every line end "\n".
        with tokenize.open(path) as file:
            yield Document(f"module/{path.relative_to(library).as_posix()}", file.read())


def _module_files(library: Path) -> Iterator[Path]:
    """Python files of the standard library proper, whatever else lies in its folder."""
    for name in sys.stdlib_module_names - _SKIPPED:
        module = library / f"{name}.py"
        candidates = [module] if module.is_file() else (library / name).rglob("*.py")
        yield from (path for path in candidates if _SKIPPED.isdisjoint(path.relative_to(library).parts))


def _without_repetitions(documents: Iterable[Document]) -> list[Document]:
    """Leave out each document that mostly repeats larger ones, so that training never shows what evaluation asks.

    Reference topics often stand inside others as well (`for` in `compound`), and some modules are mere aliases.

    Returns:
        The documents at least half of whose long lines are new, in order of their names.
    """
    seen: set[str] = set()
    kept = []
    for document in sorted(documents, key=lambda document: (-len(document.text), document.name)):
        lines = {line.strip() for line in document.text.splitlines()}
        long_lines = {line for line in lines if len(line) >= _LONG_LINE}
        new = long_lines - seen
        if new and 2 * len(new) >= len(long_lines):
            kept.append(document)
            seen |= long_lines
    return sorted(kept, key=lambda document: document.name)


def _is_held_out(name: str) -> bool:
    """Whether a document is for evaluation; depends on nothing but its name, so no other document can move it."""
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    return number < _EVAL_SHARE * 2**64
