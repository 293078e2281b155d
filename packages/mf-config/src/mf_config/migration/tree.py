"""A YAML text with the place of every key: PyYAML's nodes, every path that leads to them, and the lines they fill."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from mf_config.migration.rule import KeyPath, show_path

_MERGE_TAG = "tag:yaml.org,2002:merge"
_TYPE = "type"
_ANCHOR = re.compile(r"(?:!\S*\s+)?&")
"""PyYAML lets a node begin at its anchor."""


@dataclass(slots=True, eq=False)
class Entry:
    """One key with its value.

    Attributes:
        key: the key.
        value: its value; for an alias, the node at the anchor.
        section: the mapping that has the key.
        outer: the entry whose value `section` is; None for the file itself and for an item of a list.
        paths: every path that leads here; several where a section above is used through aliases.
    """

    key: yaml.ScalarNode
    value: yaml.Node
    section: yaml.MappingNode
    outer: "Entry | None"
    paths: list[KeyPath] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The key."""
        return str(self.key.value)

    @property
    def is_alias(self) -> bool:
        """Whether the value is written elsewhere, at an anchor above."""
        return self.value.start_mark.index < self.key.start_mark.index

    @property
    def shown(self) -> str:
        """The path where the key is written, as messages show it."""
        return show_path(self.paths[0])


class Tree:
    """A parsed text.

    Attributes:
        text: the characters, without byte-order mark.
        lines: the same in lines, line ends kept.
        root: the top-level mapping, None where the text has none.
    """

    def __init__(self, text: str):
        """Parses the text, whose aliases must not unfold to an absurd size.

        Raises:
            yaml.YAMLError: the text is not YAML.
        """
        self.text = text
        self.lines = text.splitlines(keepends=True)
        composed = yaml.compose(text, Loader=yaml.SafeLoader)
        self.root = composed if isinstance(composed, yaml.MappingNode) else None
        self._entries: dict[int, Entry] = {}
        self._named: dict[str, list[Entry]] = defaultdict(list)
        self._places: dict[int, set[tuple[int, int]]] = defaultdict(set)
        self._anchors: set[int] = set()
        self._walk(self.root, (), None)

    def named(self, name: str) -> list[Entry]:
        """All entries with this key, in the order of the text."""
        return self._named[name]

    def entry(self, section: yaml.MappingNode, name: str) -> Entry | None:
        """The entry of a section, its merged sections included; the section's own goes first."""
        below: list[yaml.MappingNode] = []
        for key, value in section.value:
            if key.tag == _MERGE_TAG:
                below += _merged(value)
            elif key.value == name:
                return self._entries[id(key)]
        return next((found for found in (self.entry(node, name) for node in below) if found), None)

    def at(self, path: KeyPath) -> Entry | None:
        """The entry at a path from the top; `[Name]` is the item of a list whose type is Name."""
        found: Entry | None = None
        node: yaml.Node | None = self.root
        for name in path:
            found = None
            if isinstance(node, yaml.MappingNode):
                found = self.entry(node, name)
                node = found.value if found else None
            elif isinstance(node, yaml.SequenceNode):
                node = next((item for item in node.value if f"[{type_of(item)}]" == name), None)
        return found

    def is_shared(self, node: yaml.Node) -> bool:
        """Whether the node is used at several places, through an alias."""
        return len(self._places[id(node)]) > 1

    def holds_anchor(self, start: int, end: int) -> bool:
        """Whether an anchor stands in this range of characters."""
        return any(start <= anchor < end for anchor in self._anchors)

    def starts_line(self, entry: Entry) -> bool:
        """Whether only spaces stand before the key on its line."""
        mark = entry.key.start_mark
        return not self.lines[mark.line][: mark.column].strip()

    def end_line(self, entry: Entry) -> int:
        """The line after the last one of a key in block style, deeper comments below it included; counted from 0."""
        mark = entry.key.start_mark
        last = max(mark.line, self._last_line(entry.value, mark.index))
        for number in range(last + 1, len(self.lines)):
            line = self.lines[number].strip()
            if not line:
                continue
            depth = len(self.lines[number]) - len(self.lines[number].lstrip(" "))
            dash = isinstance(entry.value, yaml.SequenceNode) and (line == "-" or line.startswith("- "))
            if not (depth > mark.column or (depth == mark.column and dash)):
                break
            last = number
        return last + 1

    def end_of_section(self, section: yaml.MappingNode) -> int:
        """The line after the last key of a mapping in block style; counted from 0."""
        key, value = section.value[-1]
        return self.end_line(Entry(key, value, section, None))

    def _last_line(self, node: yaml.Node, floor: int) -> int:
        """The last line that a node fills; -1 for an alias, whose node stands before `floor`."""
        if node.start_mark.index < floor:
            return -1
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            parts = [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]
            return max((self._last_line(part, floor) for part in parts), default=-1)
        written = self.text[node.start_mark.index : node.end_mark.index].rstrip()
        return int(node.start_mark.line) + max(0, len(written.splitlines()) - 1)

    def _walk(self, node: yaml.Node | None, path: KeyPath, outer: Entry | None) -> None:
        if node and _ANCHOR.match(self.text, node.start_mark.index):
            self._anchors.add(node.start_mark.index)
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.tag == _MERGE_TAG:
                    for merged in _merged(value):
                        self._walk(merged, path, None)
                else:
                    entry = self._visit(key, value, node, outer)
                    entry.paths.append((*path, entry.name))
                    self._walk(value, entry.paths[-1], entry)
        elif isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self._places[id(item)].add((id(node), index))
                self._walk(item, (*path, f"[{type_of(item)}]"), None)

    def _visit(self, key: yaml.ScalarNode, value: yaml.Node, section: yaml.MappingNode, outer: Entry | None) -> Entry:
        """The entry of a key, made when it is seen first."""
        if id(key) not in self._entries:
            self._entries[id(key)] = Entry(key, value, section, outer)
            self._named[key.value].append(self._entries[id(key)])
            self._places[id(value)].add((id(key), 0))
            self._walk(key, (), None)
        return self._entries[id(key)]


def type_of(node: yaml.Node) -> str:
    """The `type` of a section, empty where it has none."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == _TYPE and isinstance(value, yaml.ScalarNode):
                return str(value.value)
    return ""


def _merged(value: yaml.Node) -> Iterator[yaml.MappingNode]:
    """The sections that a merge key names."""
    nodes = value.value if isinstance(value, yaml.SequenceNode) else [value]
    return (node for node in nodes if isinstance(node, yaml.MappingNode))
