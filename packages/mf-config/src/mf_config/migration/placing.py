"""Where a key goes that is moved or added: the line, the depth, and the sections that must be made for it."""

import re
from dataclasses import dataclass

import yaml

from mf_config.migration.rule import KeyPath, show_path
from mf_config.migration.tree import Entry, Tree, type_of

_STEP = 2
"""Columns by which a section is deeper than its key."""

_DASH = re.compile(r"( *)- ")


class RefusedError(ValueError):
    """An edit that can't be made without a person; the text says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place for a key.

    Attributes:
        line: the new lines stand before this one, counted from 0.
        column: the key's indentation.
        heads: lines, without their ends, that open missing sections above the key.
    """

    line: int
    column: int
    heads: tuple[str, ...]


def find_place(tree: Tree, target: KeyPath, source: Entry) -> Place:
    """Where the key `target` is to be written.

    Args:
        tree: the text.
        target: path of a key that the text does not have.
        source: the entry that moves there, or the section that gets the key; a new top-level section comes right below
            the one that has it.
    Raises:
        RefusedError: a section on the way is written in flow style, is an alias, or is no section.
    """
    assert tree.root is not None
    node: yaml.Node = tree.root
    top = tree.at(source.paths[0][:1])
    assert top is not None
    line = tree.end_line(top)
    column = tree.root.start_mark.column
    for depth, part in enumerate(target[:-1]):
        below = _item(node, part) if part.startswith("[") else _section(tree, node, target, depth)
        if below is None:
            return Place(line, *_heads(target[depth:-1], column))
        if isinstance(below, Entry):
            line = tree.end_line(below)
            if isinstance(below.value, yaml.ScalarNode):
                return Place(line, *_heads(target[depth + 1 : -1], below.key.start_mark.column + _STEP))
            node = below.value
        else:
            node = below
            line = tree.end_of_section(below)
        column = _column(tree, node)
    return Place(line, column, ())


def _section(tree: Tree, node: yaml.Node, target: KeyPath, depth: int) -> Entry | None:
    """The entry of the section or list at this depth on the way, None where it is missing.

    Raises:
        RefusedError: nothing can be written into it.
    """
    assert isinstance(node, yaml.MappingNode)
    found = tree.entry(node, target[depth])
    path = target[: depth + 1]
    kind = yaml.SequenceNode if target[depth + 1].startswith("[") else yaml.MappingNode
    if found is None:
        return None
    if found.section is not node or found.is_alias or tree.is_shared(found.value):
        raise RefusedError(f"{show_path(path)} is shared through an anchor")
    if isinstance(found.value, yaml.CollectionNode):
        fits = isinstance(found.value, kind) and found.value.value and not found.value.flow_style
    else:
        fits = found.value.start_mark.index == found.value.end_mark.index  # nothing is written there yet
    if not fits:
        raise RefusedError(
            f"{show_path(path)} is not a {'list' if kind is yaml.SequenceNode else 'section'} of indented lines"
        )
    return found


def _item(node: yaml.Node, part: str) -> yaml.MappingNode | None:
    """The section of a list that has the wanted type, None where it is missing.

    Raises:
        RefusedError: nothing can be written into the section.
    """
    for item in node.value:
        if isinstance(item, yaml.MappingNode) and f"[{type_of(item)}]" == part:
            if item.flow_style or item.start_mark.index < node.start_mark.index:
                raise RefusedError(f"the section of type {part[1:-1]} is not written in indented lines there")
            return item
    return None


def _column(tree: Tree, node: yaml.Node) -> int:
    """The indentation of a section's keys, or of a list's dashes."""
    first = node.value[0]
    if isinstance(node, yaml.MappingNode):
        return int(first[0].start_mark.column)
    dash = _DASH.match(tree.lines[first.start_mark.line])
    if dash is None:
        raise RefusedError("the list is not written as one dash a line")
    return len(dash[1])


def _heads(missing: KeyPath, column: int) -> tuple[int, tuple[str, ...]]:
    """The column of a key below sections that are made, and the lines that open them."""
    heads = []
    for part in missing:
        heads.append(" " * column + (f"- type: {part[1:-1]}" if part.startswith("[") else f"{part}:"))
        column += _STEP
    return column, tuple(heads)
