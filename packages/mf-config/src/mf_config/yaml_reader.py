"""Strict YAML into located nodes.

Anchors, aliases, block and flow styles are read; duplicate keys, merge keys, tags, several documents and keys that are
not text are mistakes. Scalars stay text: their type is decided by the field that takes them (`mf_config.scalars`).
"""

from pathlib import Path

import yaml

from mf_config.nodes import Mapping, Node, Scalar, Sequence
from mf_config.problems import ConfigError, Location, Problem

_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("bool", "float", "int", "null", "str", "timestamp"))
_MERGE_TAG = "tag:yaml.org,2002:merge"
_CONTAINER_TAGS = frozenset({"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})
_MERGE_KEY = "<<"


def read_file(path: Path, shown: str | None = None) -> Mapping:
    """Read one YAML file.

    Args:
        path: the file; UTF-8, with or without byte-order mark, any line ends.
        shown: the name under which messages speak of it; the path as given where None.
    Returns:
        Its top-level mapping; empty where the file is.
    Raises:
        ConfigError: with every duplicate key and unsupported construct, or the one syntax error.
    """
    name = shown or str(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise _single(Location(name, 0), f"can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise _single(Location(name, line), f"byte {error.start} is not UTF-8", "a text file in UTF-8") from error
    return read_text(text, name)


def read_text(text: str, name: str) -> Mapping:
    """Read YAML text; `name` stands for the file in messages. See `read_file`."""
    node = _compose(text, name)
    if node is None:
        return Mapping({}, {}, Location(name, 1))
    reader = _Reader(name)
    root = reader.convert(node, "")
    if reader.problems:
        raise ConfigError(reader.problems)
    if not isinstance(root, Mapping):
        raise _single(root.location, "the file is not a mapping", "keys with values, `key: value`, at the top level")
    return root


def read_value(text: str, location: Location, path: str) -> Node:
    """Read the value of an override, `--set path=text`, as the same YAML that a file would hold.

    Args:
        text: the characters after the equals sign; nothing means an empty text.
        location: what stands for the file in messages.
        path: dotted path of the key, for messages.
    Raises:
        ConfigError: the text is not one YAML value.
    """
    node = _compose(text, location.file)
    if node is None:
        return Scalar("", True, location)
    reader = _Reader(location.file, fixed=location)
    value = reader.convert(node, path)
    if reader.problems:
        raise ConfigError(reader.problems)
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
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        raise _single(Location(name, line), *_explain_syntax(error, text, line)) from error
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise _single(Location(name, line), f"character U+{error.character:04X} is not allowed in YAML") from error


def _explain_syntax(error: yaml.MarkedYAMLError, text: str, line: int) -> tuple[str, str]:
    """What is wrong and what is allowed, in the words of a person who edits a run configuration."""
    lines = text.splitlines()
    written = lines[line - 1] if 0 < line <= len(lines) else ""
    if "\t" in written[: len(written) - len(written.lstrip())]:
        return "a tab indents this line", "spaces only"
    what = (error.problem or "malformed YAML").replace("found ", "")
    if error.context and error.context_mark:
        what += f" ({error.context}, line {error.context_mark.line + 1})"
    return f"not valid YAML: {what}", ""


def _single(location: Location, what: str, allowed: str = "") -> ConfigError:
    return ConfigError([Problem(location, "", what, allowed)])


class _Reader:
    """Converts PyYAML nodes and gathers what is wrong on the way."""

    def __init__(self, name: str, fixed: Location | None = None):
        """`fixed` is the location of every node where the text is no file."""
        self.problems: list[Problem] = []
        self._name = name
        self._fixed = fixed
        self._known: dict[int, Node] = {}
        self._open: set[int] = set()

    def convert(self, node: yaml.Node, path: str) -> Node:
        """The located form of a node; an alias gives the very object of its anchor."""
        location = self._locate(node)
        if id(node) in self._open:
            self.problems.append(Problem(location, path, "the alias stands inside its own anchor", "no cycles"))
            return Scalar("", False, location)
        if id(node) not in self._known:
            self._open.add(id(node))
            self._known[id(node)] = self._convert_new(node, path, location)
            self._open.discard(id(node))
        return self._known[id(node)]

    def _convert_new(self, node: yaml.Node, path: str, location: Location) -> Node:
        if isinstance(node, yaml.MappingNode):
            self._check_tag(node, path, _CONTAINER_TAGS)
            return self._convert_mapping(node, path, location)
        if isinstance(node, yaml.SequenceNode):
            self._check_tag(node, path, _CONTAINER_TAGS)
            items = (self.convert(item, f"{path}[{index}]") for index, item in enumerate(node.value))
            return Sequence(tuple(items), location)
        self._check_tag(node, path, _PLAIN_TAGS | {_MERGE_TAG, "tag:yaml.org,2002:value"})
        return Scalar(node.value, node.style is not None, location)

    def _convert_mapping(self, node: yaml.MappingNode, path: str, location: Location) -> Mapping:
        entries: dict[str, Node] = {}
        key_locations: dict[str, Location] = {}
        for key_node, value_node in node.value:
            place = self._locate(key_node)
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(Problem(place, path, "a list or mapping is used as a key", "text"))
                continue
            name = key_node.value
            here = f"{path}.{name}" if path else name
            if name == _MERGE_KEY:
                what = "merge keys (<<) are not read"
                self.problems.append(Problem(place, here, what, "the keys themselves, or base_config for a whole file"))
            elif name in entries:
                first = key_locations[name].line
                what = f"key written twice, first at line {first}"
                self.problems.append(Problem(place, here, what, "one definition"))
            else:
                key_locations[name] = place
                entries[name] = self.convert(value_node, here)
        return Mapping(entries, key_locations, location)

    def _check_tag(self, node: yaml.Node, path: str, allowed: frozenset[str]) -> None:
        if node.tag not in allowed:
            what = f"the tag {node.tag.replace('tag:yaml.org,2002:', '!!')} is not read"
            self.problems.append(Problem(self._locate(node), path, what, "plain values"))

    def _locate(self, node: yaml.Node) -> Location:
        return self._fixed or Location(self._name, node.start_mark.line + 1)
