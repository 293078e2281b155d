"""A configuration as a run sees it: every key with its value, and where that value comes from."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mf_config.components import chooser_in, type_name
from mf_config.dump import can_be_written, to_line
from mf_config.nodes import Document, Mapping, Node, Sequence, join_path
from mf_config.schema import TYPE_KEY, declarations, tag_of
from mf_config.sections.run import RunConfig

_INDENT = "  "
_WIDEST = 56
"""Columns up to which comments are lined up; a longer line has its comment right behind it."""

_LONGEST_LIST = 60
"""Characters of a list that stands on one line."""

_DEFAULT = "default"
_OVERRIDE = "--set"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the resolved view.

    Attributes:
        text: YAML, indented.
        path: dotted path of the value, with list indices.
        source: `run.yaml:18`, `--set` or `default`; empty for a line that only opens a section or a list.
    """

    text: str
    path: str
    source: str = ""


def resolve(config: RunConfig, document: Document) -> list[Line]:
    """Every key of a configuration with its value and the place where it was written.

    Args:
        config: what the document was decoded to.
        document: what `mf_config.load` gave.
    Returns:
        Lines that are YAML together, and decode to an equal configuration.
    """
    return list(_section_lines(config, document.root, "", TYPE_KEY))


def to_commented_yaml(lines: list[Line]) -> str:
    """The lines as a YAML text, the source of each value as a comment behind it."""
    widths = [len(line.text) for line in lines if line.source and len(line.text) <= _WIDEST]
    column = max(widths, default=0)
    return "".join(f"{line.text:<{column}}  # {line.source}\n" if line.source else f"{line.text}\n" for line in lines)


def sources(lines: list[Line]) -> dict[str, str]:
    """Dotted path of each value to its source."""
    return {line.path: line.source for line in lines if line.source}


def _section_lines(section: Any, node: Node | None, path: str, chooser: str) -> Iterator[Line]:
    """The keys of a section, not indented."""
    written = node.entries if isinstance(node, Mapping) else {}
    owner: type = type(section)
    if tag_of(owner):
        yield from _entry_lines(chooser, type_name(section), written.get(chooser), join_path(path, chooser))
    for name, declared in declarations(owner).items():
        value, here = getattr(section, name), join_path(path, name)
        if can_be_written(declared, value):
            yield from _entry_lines(name, value, written.get(name), here, chooser_in(declared.annotation))


def _entry_lines(name: str, value: Any, node: Node | None, path: str, chooser: str = TYPE_KEY) -> Iterator[Line]:
    """A key with its value: on one line where that is possible, else indented below the key."""
    key = to_line(name)
    below = list(_lines_below(value, node, path, chooser))
    if below:
        yield Line(f"{key}:", path)
        yield from (dataclasses.replace(line, text=_INDENT + line.text) for line in below)
    else:
        yield Line(f"{key}: {to_line(_as_list(value))}", path, _source(node))


def _lines_below(value: Any, node: Node | None, path: str, chooser: str) -> Iterator[Line]:
    """The lines of a section or a list; none for a value that fits behind its key."""
    if dataclasses.is_dataclass(value):
        yield from _section_lines(value, node, path, chooser)
    elif isinstance(value, dict):
        written = node.entries if isinstance(node, Mapping) else {}
        for name, item in value.items():
            yield from _entry_lines(name, item, written.get(name), join_path(path, name), chooser)
    elif isinstance(value, tuple) and not _fits_on_a_line(value, node):
        items = node.items if isinstance(node, Sequence) else (None,) * len(value)
        for index, (item, item_node) in enumerate(zip(value, items, strict=True)):
            yield from _item_lines(item, item_node, f"{path}[{index}]", chooser)


def _item_lines(item: Any, node: Node | None, path: str, chooser: str) -> Iterator[Line]:
    """An element of a list: its first line begins with the dash."""
    lines = list(_lines_below(item, node, path, chooser)) or [Line(to_line(_as_list(item)), path, _source(node))]
    for index, line in enumerate(lines):
        yield dataclasses.replace(line, text=("- " if index == 0 else _INDENT) + line.text)


def _fits_on_a_line(items: tuple[Any, ...], node: Node | None) -> bool:
    """Whether a list holds short scalars that come from one file."""
    if any(dataclasses.is_dataclass(item) or isinstance(item, tuple | dict) for item in items):
        return False
    files = {item.location.file for item in node.items} - {node.location.file} if isinstance(node, Sequence) else ()
    return not files and len(to_line(list(items))) <= _LONGEST_LIST


def _as_list(value: Any) -> Any:
    """A tuple as YAML has it; other values as they are."""
    return list(value) if isinstance(value, tuple) else value


def _source(node: Node | None) -> str:
    """Where a value comes from, in a few characters."""
    if node is None:
        return _DEFAULT
    return str(node.location) if node.location.line else _OVERRIDE
