"""Where a misplaced key belongs: `model.seq_length` is not a key, `model.model_config.seq_length` is."""

import dataclasses
from collections.abc import Iterator
from functools import cache, cached_property
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from mf_config.components import components
from mf_config.nodes import Mapping, Node, Scalar, Sequence, join_path
from mf_config.schema import ComponentOf, declarations


class Elsewhere:
    """The keys that a file may have, by name; they are gathered at the first question."""

    def __init__(self, cls: type, root: Mapping):
        """Takes the section class of the whole file, and the file: it decides which components' keys exist."""
        self._cls = cls
        self._root = root

    def find(self, name: str, path: str) -> str:
        """The dotted path of the only key of a name, looked for below a section first, then everywhere.

        Args:
            name: of the unknown key.
            path: of the section in which it stands.
        Returns:
            An empty string where no key or more than one has the name.
        """
        homes = self._homes.get(name, [])
        below = [home for home in homes if home.startswith(join_path(path, ""))]
        if len(below) == 1:
            return below[0]
        return homes[0] if len(homes) == 1 else ""

    @cached_property
    def _homes(self) -> dict[str, list[str]]:
        homes: dict[str, list[str]] = {}
        for path in dict.fromkeys(_walk(self._cls, self._root, "")):
            homes.setdefault(path.rpartition(".")[2], []).append(path)
        return homes


def _walk(cls: type, node: Node | None, path: str) -> Iterator[str]:
    """The paths of all keys of a section and of those below it."""
    entries = node.entries if isinstance(node, Mapping) else {}
    for name, annotation in _keys(cls):
        here = join_path(path, name)
        yield here
        if annotation is not None:
            yield from _walk_value(annotation, entries.get(name), here)


@cache
def _keys(cls: type) -> tuple[tuple[str, Any], ...]:
    """The keys of a section, each with its type where it may hold sections that are read, else with None."""
    return tuple(
        (name, declared.annotation if not declared.key.alias_suffix and _holds_sections(declared.annotation) else None)
        for name, declared in declarations(cls).items()
    )


def _holds_sections(annotation: Any) -> bool:
    if isinstance(annotation, ComponentOf) or dataclasses.is_dataclass(annotation):
        return True
    return any(_holds_sections(part) for part in get_args(annotation))


def _walk_value(annotation: Any, node: Node | None, path: str) -> Iterator[str]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        asked = arguments[1]
        chosen = node.entries.get(asked.chooser) if isinstance(node, Mapping) else None
        name = chosen.text if isinstance(chosen, Scalar) else asked.otherwise
        cls = components(asked.kind).get(name)
        if cls is not None:
            yield from _walk(cls, node, path)
    elif origin in (Union, UnionType):
        for choice in arguments:
            yield from _walk_value(choice, node, path)
    elif origin is tuple and isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            yield from _walk_value(arguments[0], item, f"{path}[{index}]")
    elif isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        yield from _walk(annotation, node, path)
