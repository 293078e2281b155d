"""Cells whose compiled graphs are kept from one process to the next."""

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import mindspore as ms
from mindspore import nn

from mf_models.graph_cache.description import UndescribedError
from mf_models.graph_cache.desk import desk
from mf_models.graph_cache.folder import KeptFiles
from mf_models.graph_cache.key import key_of

_log = logging.getLogger(__name__)

_MOST_BYTES = 2 * 1024**3
"""Of all graphs together."""


class KeptGraph(nn.Cell):
    """A cell that takes its compiled graphs from the user's cache, where `keep_graphs` has been called."""

    kept: ClassVar[KeptFiles | None] = None

    def __init__(self, auto_prefix: bool = True):
        """See `mindspore.nn.Cell`."""
        super().__init__(auto_prefix)
        self.compiled_forms: set[tuple[Any, ...]] = set()

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile for inputs of this form, or take the graph from the cache; MindSpore asks for it at every call."""
        form = tuple((one.shape, one.dtype) if isinstance(one, ms.Tensor) else one for one in args)
        if form in self.compiled_forms:
            super().compile(*args, **kwargs)
            return
        compile_it = partial(super().compile, *args, **kwargs)
        key = None if self.kept is None or kwargs else _key(self, args)
        if self.kept is None or key is None:
            compile_it()
        else:
            _compile_or_take(compile_it, key, self.kept)
        self.compiled_forms.add(form)


def keep_graphs(folder: Path | None, most_bytes: int = _MOST_BYTES) -> None:
    """Say where compiled graphs are kept, for the whole process, as MindSpore's settings are.

    Args:
        folder: of all graphs; None to keep none.
        most_bytes: of all graphs; those that were used longest ago go first.
    """
    KeptGraph.kept = None if folder is None else KeptFiles(folder, most_bytes)


def _key(cell: nn.Cell, inputs: tuple[Any, ...]) -> str | None:
    """The key of a graph; None where there can be none, or graph code doesn't compile at all."""
    if ms.get_context("mode") != ms.GRAPH_MODE:
        return None
    try:
        return key_of(cell, inputs)
    except UndescribedError as reason:
        _log.debug("the graph of %s is not kept: %s", type(cell).__name__, reason)
        return None


def _compile_or_take(compile_it: Callable[[], None], key: str, kept: KeptFiles) -> None:
    graph = kept.read(key)
    try:
        made = desk().compile(compile_it, graph)
    except RuntimeError:
        if graph is None:
            raise
        _log.warning("a kept graph can't be read and is compiled anew", exc_info=True)
        kept.remove(key)
        made = desk().compile(compile_it, None)
    if made is not None:
        kept.write(key, made)
