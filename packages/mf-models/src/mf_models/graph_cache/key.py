"""The key of a compiled graph: a digest of everything that decides what MindSpore makes of a cell."""

import ast
import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import mindspore as ms
import numpy as np

from mf_models.graph_cache.description import Description, UndescribedError
from mf_parallel.machine import processor
from mf_parallel.process_group import ProcessGroup

_FORM = 1
"""Of what is kept; another number makes all that was kept before worthless."""

_SETTINGS = (
    "check_bprop",
    "debug_level",
    "deterministic",
    "device_target",
    "enable_graph_kernel",
    "enable_profiling",
    "exec_order",
    "graph_kernel_flags",
    "infer_boost",
    "jit_level",
    "jit_syntax_level",
    "max_call_depth",
    "memory_optimize_level",
    "mode",
)
"""Settings of MindSpore that a graph may depend on."""


def key_of(cell: ms.nn.Cell, inputs: Iterable[object]) -> str:
    """The key of the graph that a cell has for such inputs.

    Args:
        cell: what is compiled.
        inputs: tensors, of which only the form counts, and plain values.
    Raises:
        UndescribedError: the cell has something of which it isn't known what the compiler makes of it.
    """
    description = Description()
    description.add(cell)
    for value in inputs:
        if isinstance(value, ms.Tensor):
            description.lines.append(f"input {value.dtype} {value.shape}")
        else:
            description.add(value)
    lines = [*surroundings(), *description.lines, *_sources(description.modules)]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def surroundings() -> list[str]:
    """Versions, machine, settings and variables.

    Raises:
        UndescribedError: somebody looks into the compiler, who would see nothing of a graph that isn't compiled, or the
            graph depends on more than is told here.
    """
    variables = {name: value for name, value in os.environ.items() if name.startswith("MS_")}
    watching = [name for name in variables if name.startswith("MS_DEV_")]
    if watching or ms.get_context("save_graphs"):
        raise UndescribedError(f"settings of developers: {', '.join(watching) or 'save_graphs'}")
    if ms.get_context("enable_compile_cache") or "MS_COMPILER_CACHE_ENABLE" in variables:
        raise UndescribedError("MindSpore's own cache")
    if ProcessGroup.from_environment(os.environ).size > 1:
        # A pipeline's kept graphs gave losses that are no numbers; graphs with collectives are compiled anew anyway.
        raise UndescribedError("a process among others")
    if not _is_python(Path(sys.argv[0])):
        # MindSpore reads it when its cache is on, and fails.
        raise UndescribedError(f"the program {sys.argv[0]}")
    if ms.get_auto_parallel_context("parallel_mode") != "stand_alone":
        raise UndescribedError("a graph that MindSpore divides")
    return [
        f"form {_FORM}",
        f"versions {ms.__version__} {np.__version__} {sys.version}",
        f"processor {processor()}",
        *(f"setting {name} {ms.get_context(name)}" for name in _SETTINGS),
        *(f"variable {name} {variables[name]}" for name in sorted(variables)),
    ]


def _is_python(program: Path) -> bool:
    try:
        ast.parse(program.read_text())
    except (OSError, SyntaxError, ValueError):
        return False
    return True


def _sources(modules: Iterable[str]) -> list[str]:
    """The text of all packages that modules belong to, as digests."""
    return [
        f"source {package} {name} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for package in sorted({module.partition(".")[0] for module in modules})
        for name, path in _files(package)
    ]


def _files(package: str) -> list[tuple[str, Path]]:
    """The Python files of a top-level package or module, each with its name there."""
    module = sys.modules.get(package)
    folders = [Path(folder) for folder in getattr(module, "__path__", ())]
    if folders:
        return sorted((str(path.relative_to(folder)), path) for folder in folders for path in folder.rglob("*.py"))
    source = getattr(module, "__file__", None)
    if source is None:
        raise UndescribedError(f"the module {package}, whose text isn't known")
    return [("", Path(source))]
