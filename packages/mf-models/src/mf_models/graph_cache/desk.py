"""MindSpore's own cache of compiled graphs, held so that it can take no wrong one.

MindSpore 2.10 tells graphs apart by the order in which a process compiles them, and takes what lies in that place: the
graph of another configuration, too. So each compilation sees a folder that is empty, or has the one graph in it that
belongs there, and what MindSpore writes is taken away afterwards. Which graph belongs to which cell is decided by its
key (`mf_models.graph_cache.key`).
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

_NAME = re.compile(r"(.*compile_cache_)(\d+)(\.mindir)\Z")
"""Of a graph's file: MindSpore counts the graphs of a process."""


class Desk:
    """The folder in which MindSpore looks for compiled graphs; it takes one for a process."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mf-graphs-")
        self._next = 0

    def compile(self, compile_it: Callable[[], None], graph: bytes | None) -> bytes | None:
        """Compile one graph, or let MindSpore take the given one.

        Args:
            compile_it: makes MindSpore compile.
            graph: what an earlier call returned, in this process or another.
        Returns:
            What the next call may be given in place of compiling; None where that is `graph`, or nothing of the kind.
        """
        place = Path(self._folder.name)
        laid = None if graph is None else self._lay(place, graph)
        try:
            with _in_use(place):
                compile_it()
            found = [path for path in place.rglob("*") if _NAME.match(path.name)]
            new = [path for path in found if path != laid]
            # Where MindSpore compiled all the same, its count was another one.
            numbers = [_number(path) for path in new or found]
            self._next = max([self._next, *(number + 1 for number in numbers)])
            return _packed(place, new[0]) if len(found) == 1 and new else None
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _lay(self, place: Path, graph: bytes) -> Path:
        """Put a graph where MindSpore looks for its next one."""
        name, _, content = graph.partition(b"\n")
        path = place / name.decode().format(self._next)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path


@cache
def desk() -> Desk:
    """That of this process."""
    return Desk()


def _number(path: Path) -> int:
    matched = _NAME.match(path.name)
    assert matched is not None
    return int(matched[2])


def _packed(place: Path, path: Path) -> bytes:
    """A graph with the name of its file, in which the number may be another one."""
    name = _NAME.sub(r"\1{}\3", str(path.relative_to(place)))
    return name.encode() + b"\n" + path.read_bytes()


@contextmanager
def _in_use(place: Path) -> Iterator[None]:
    """MindSpore's cache is on, in this folder, and asks nothing about the text of the program."""
    variables = {
        "MS_COMPILER_CACHE_ENABLE": "1",
        "MS_COMPILER_CACHE_PATH": str(place),
        "MS_DEV_FORCE_USE_COMPILE_CACHE": "1",
    }
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
