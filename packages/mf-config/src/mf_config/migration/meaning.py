"""What a YAML text means, as plain data that a rule can be applied to without any text: the check on every edit."""

from itertools import pairwise
from typing import TypeAlias

import yaml

from mf_config.migration.rule import KeyPath
from mf_config.migration.tree import Entry

Plain: TypeAlias = "dict[str, Plain] | list[Plain] | tuple[str, str]"
"""A mapping, a list, or a scalar's tag and text."""

_BOOL_TAG = "tag:yaml.org,2002:bool"
_TRUE = ("true", "yes", "on")


class Meaning:
    """The values of a text; an alias is the same object as its anchor.

    Attributes:
        data: the top-level mapping.
    """

    def __init__(self, root: yaml.MappingNode | None):
        """Takes the node tree apart."""
        self._known: dict[int, Plain] = {}
        found = self._convert(root) if root else {}
        assert isinstance(found, dict)
        self.data: dict[str, Plain] = found

    def section(self, node: yaml.MappingNode) -> dict[str, Plain]:
        """The values of a mapping of the tree."""
        found = self._known[id(node)]
        assert isinstance(found, dict)
        return found

    def take(self, entry: Entry) -> Plain:
        """Remove a key, and the sections above that it leaves empty; returns its value."""
        value = self.section(entry.section).pop(entry.name)
        if entry.outer and not self.section(entry.section):
            self.take(entry.outer)
        return value

    def put(self, path: KeyPath, value: Plain) -> None:
        """Set a key, making the sections and items of lists that are missing."""
        here: Plain = self.data
        for part, below in pairwise(path):
            fresh: Plain = [] if below.startswith("[") else {}
            if isinstance(here, list):
                here = _item(here, part)
            else:
                assert isinstance(here, dict)
                if _is_empty(here.get(part)):
                    here[part] = fresh
                here = here[part]
        assert isinstance(here, dict)
        here[path[-1]] = value

    def _convert(self, node: yaml.Node) -> Plain:
        if id(node) not in self._known:
            if isinstance(node, yaml.MappingNode):
                self._known[id(node)] = {key.value: self._convert(value) for key, value in node.value}
            elif isinstance(node, yaml.SequenceNode):
                self._known[id(node)] = [self._convert(item) for item in node.value]
            else:
                assert isinstance(node, yaml.ScalarNode)
                self._known[id(node)] = _scalar(node)
        return self._known[id(node)]


def scalar(text: str) -> Plain:
    """A scalar as it is written in a file, as plain data."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(node, yaml.ScalarNode)
    return _scalar(node)


def _scalar(node: yaml.ScalarNode) -> tuple[str, str]:
    """Tag and text; booleans have many spellings."""
    text = str(node.value)
    return node.tag, str(text.lower() in _TRUE) if node.tag == _BOOL_TAG else text


def _item(items: list[Plain], part: str) -> Plain:
    """The section of a list that has the type which the part names, made where it is missing."""
    kind = scalar(part[1:-1])
    for item in items:
        if isinstance(item, dict) and item.get("type") == kind:
            return item
    items.append({"type": kind})
    return items[-1]


def _is_empty(value: "Plain | None") -> bool:
    return value is None or (isinstance(value, tuple) and value[1] == "")
