"""Compiles cells inside a simulated process, and reads what the compiler made of them."""

import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mindspore as ms
from mindspore import Tensor, nn

from mf_parallel.simulation.run import LAST_PASS

_CALL = re.compile(r"^ *%\w+(?:\([^)]*\))? = (?:PrimFunc_)?(\w+)\(", re.MULTILINE)
"""A node that calls an operator; lines of Python are quoted between the nodes."""


@dataclass(frozen=True, slots=True)
class CompiledGraph:
    """A graph after the compiler's front end.

    Attributes:
        text: MindSpore's own form of it.
        seconds: how long it took to compile.
    """

    text: str
    seconds: float

    def operators(self) -> Counter[str]:
        """How often each operator is called; one in a shared graph counts once, however often that is called."""
        return Counter(name for name in _CALL.findall(self.text) if name not in ("MakeTuple", "TupleGetItem"))


def compile_graph(cell: nn.Cell, *inputs: Tensor) -> CompiledGraph:
    """Compile a cell without running it.

    Args:
        cell: takes tensors.
        inputs: tensors of the shapes and types to compile for; their values have no influence.

    Returns:
        The graph.
    """
    return saved_graph(lambda: cell.compile(*inputs))


def saved_graph(compiles: Callable[[], object]) -> CompiledGraph:
    """The graph of what a function compiles.

    Args:
        compiles: compiles one graph, or several of which the last counts.
    """
    with tempfile.TemporaryDirectory() as folder:
        ms.set_context(save_graphs=2, save_graphs_path=folder)
        begin = time.perf_counter()
        try:
            compiles()
        finally:
            ms.set_context(save_graphs=0)
        seconds = time.perf_counter() - begin
        saved = sorted(Path(folder).rglob(f"*_{LAST_PASS}_*.ir"))
        return CompiledGraph(saved[-1].read_text(encoding="utf-8", errors="replace"), seconds)
