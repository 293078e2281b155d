"""Strict YAML into located nodes.

Anchors, aliases, merge keys, block and flow styles are read; duplicate keys, tags, several documents and keys that are
not text are mistakes. Scalars stay text: their type is decided by the field that takes them (`mf_config.scalars`).
"""

from dataclasses import dataclass
from pathlib import Path

import yaml

from mf_config.nodes import Mapping, Node, Scalar, Sequence, describe_node, join_path
from mf_config.problems import ConfigError, Location, Problem
from mf_config.suggest import nearest
from mf_config.syntax_errors import explain_syntax, single

_TAG = "tag:yaml.org,2002:"
_SCALAR_TAGS = frozenset(
    f"{_TAG}{name}" for name in ("bool", "float", "int", "merge", "null", "str", "timestamp", "value")
)
_CONTAINER_TAGS = frozenset({f"{_TAG}map", f"{_TAG}seq"})
_MERGE_TAG = f"{_TAG}merge"

_DEEPEST = 100
"""Levels of nesting; far beyond any configuration, far below Python's recursion limit."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A file's top-level mapping, and the mistakes that left the rest of it readable."""

    root: Mapping
    problems: tuple[Problem, ...]


def read_file(path: Path, shown: str | None = None) -> Reading:
    """Read one YAML file.

    Args:
        path: the file; UTF-8, with or without byte-order mark, any line ends.
        shown: the name under which messages speak of it; the path as given where None.
    Returns:
        Its top-level mapping (empty where the file is) with every duplicate key and unsupported construct.
    Raises:
        ConfigError: the file can't be read at all; the first syntax error.
    """
    name = shown or str(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise single(Location(name, 0), "no such file", "", _file_nearby(path)) from error
    except OSError as error:
        raise single(Location(name, 0), f"can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise single(Location(name, line), f"byte {error.start} is not UTF-8", "a text file in UTF-8") from error
    return read_text(text, name)


def read_text(text: str, name: str) -> Reading:
    """Read YAML text; `name` stands for the file in messages. See `read_file`."""
    node = _compose(text, name)
    if node is None or node.value == "":
        return Reading(Mapping({}, {}, Location(name, 1)), ())
    converter = _Converter(name)
    root = converter.convert(node, "")
    if not isinstance(root, Mapping):
        raise single(root.location, f"{describe_node(root)} is all there is", "keys with values, `key: value`")
    return Reading(root, tuple(converter.problems))


def read_value(text: str, location: Location, path: str) -> Node:
    """Read the value of an override, `--set path=text`, as the same YAML that a file would hold.

    Args:
        text: the characters after the equals sign; nothing means an empty text.
        location: what stands for the file in messages.
        path: dotted path of the key, for messages.
    Raises:
        ConfigError: the text is not one YAML value, or a part of it would be lost as a comment.
    """
    node = _compose(text, location.file)
    if node is None and not text.strip():
        return Scalar("", True, location)
    if node is None or text[node.end_mark.index :].strip():
        lost = text if node is None else text[node.end_mark.index :].strip()
        allowed = "quotation marks around a value with ' #'"
        raise ConfigError([Problem(location, path, f"{lost} is a comment to YAML", allowed)])
    converter = _Converter(location.file, fixed=location)
    value = converter.convert(node, path)
    if converter.problems:
        raise ConfigError(converter.problems)
    return value


def _compose(text: str, name: str) -> yaml.Node | None:
    """PyYAML's node tree of the text, None where it is empty.

    Raises:
        ConfigError: syntax errors.
    """
    try:
        composed: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
        return composed
    except yaml.MarkedYAMLError as error:
        raise explain_syntax(error, text, name) from error
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise single(Location(name, line), f"character U+{error.character:04X} is not allowed in YAML") from error
    except RecursionError as error:
        raise single(Location(name, 0), f"nested more than {_DEEPEST} levels deep") from error


def _file_nearby(path: Path) -> str:
    """A file of a similar name in the same folder, or an empty string."""
    near = nearest(path.name, (other.name for other in path.parent.glob("*")))
    return str(path.parent / near) if near else ""


class _Converter:
    """Converts PyYAML nodes and gathers what is wrong on the way."""

    def __init__(self, name: str, fixed: Location | None = None):
        """`fixed` is the location of every node where the text is no file."""
        self.problems: list[Problem] = []
        self._name = name
        self._fixed = fixed
        self._known: dict[yaml.Node, Node] = {}
        self._open: set[yaml.Node] = set()

    def convert(self, node: yaml.Node, path: str) -> Node:
        """The located form of a node; an alias gives the very object of its anchor.

        Raises:
            ConfigError: an alias stands inside its own anchor, or the nesting is absurd: nothing can be made of that.
        """
        if node in self._open:
            what = "the alias stands inside its own anchor"
            raise ConfigError([Problem(self._locate(node), path, what, "no cycles")])
        if len(self._open) > _DEEPEST:
            raise single(self._locate(node), f"nested more than {_DEEPEST} levels deep")
        if node not in self._known:
            self._open.add(node)
            self._known[node] = self._convert_new(node, path, self._locate(node))
            self._open.discard(node)
        return self._known[node]

    def _convert_new(self, node: yaml.Node, path: str, location: Location) -> Node:
        self._check_tag(node, path)
        if isinstance(node, yaml.MappingNode):
            return self._convert_mapping(node, path, location)
        if isinstance(node, yaml.SequenceNode):
            items = (self.convert(item, f"{path}[{index}]") for index, item in enumerate(node.value))
            return Sequence(tuple(items), location)
        assert isinstance(node, yaml.ScalarNode)
        return Scalar(node.value, node.style is not None, location)

    def _convert_mapping(self, node: yaml.MappingNode, path: str, location: Location) -> Mapping:
        own = Mapping({}, {}, location)
        merged: list[Mapping] = []
        for key_node, value_node in node.value:
            place = self._locate(key_node)
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(Problem(place, path, "a list or mapping is used as a key", "text"))
                continue
            name, here = key_node.value, join_path(path, key_node.value)
            value = self.convert(value_node, here)
            if key_node.tag == _MERGE_TAG:
                merged += self._mappings_to_merge(value, here)
            elif name in own.entries:
                self.problems.append(_written_twice(own, name, value, place, here))
            else:
                own.entries[name], own.key_locations[name] = value, place
        for below in merged:
            for name, value in below.entries.items():
                own.entries.setdefault(name, value)
                own.key_locations.setdefault(name, below.key_locations[name])
        return own

    def _mappings_to_merge(self, value: Node, path: str) -> list[Mapping]:
        """What a merge key (`<<`) names: the first of several wins, the keys beside it win over all."""
        named = value.items if isinstance(value, Sequence) else (value,)
        for node in named:
            if not isinstance(node, Mapping):
                what = f"{describe_node(node)} can't be merged"
                self.problems.append(Problem(node.location, path, what, "an alias of a section, or a list of them"))
        return [node for node in named if isinstance(node, Mapping)]

    def _check_tag(self, node: yaml.Node, path: str) -> None:
        if node.tag not in (_SCALAR_TAGS if isinstance(node, yaml.ScalarNode) else _CONTAINER_TAGS):
            what = f"the tag {node.tag.replace(_TAG, '!!')} is not read"
            self.problems.append(Problem(self._locate(node), path, what, "plain values"))

    def _locate(self, node: yaml.Node) -> Location:
        return self._fixed or Location(self._name, node.start_mark.line + 1)


def _written_twice(section: Mapping, name: str, again: Node, place: Location, path: str) -> Problem:
    first, line = section.entries[name], section.key_locations[name].line
    what = "key written twice" + (f", first at line {line}" if line else "")
    if isinstance(first, Scalar) and isinstance(again, Scalar):
        what += f" ({describe_node(first)} there, {describe_node(again)} here)"
    return Problem(place, path, what, "one definition")
