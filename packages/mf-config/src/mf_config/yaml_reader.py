"""Strict YAML, from a file or an override, into located nodes.

Anchors, aliases, merge keys, block and flow styles are read; duplicate keys, tags, several documents and keys that are
not text are mistakes. Scalars stay text: their type is decided by the field that takes them (`mf_config.scalars`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from mf_config.compose import Composed, compose
from mf_config.nodes import Mapping, Node, Scalar, describe_node
from mf_config.problems import ConfigError, Location, Problem
from mf_config.suggest import nearest
from mf_config.syntax_errors import explain_syntax, place_of, single

_MOST_BYTES = 1 << 20
"""Of a file; the largest run configuration known has seven thousand."""

_LOADER = yaml.BaseLoader
"""PyYAML's own parser decides what YAML is, and its messages are the ones explained."""

_FAST_LOADER = getattr(yaml, "CBaseLoader", None)
"""libyaml, about twenty times faster; missing where PyYAML was built without it."""

_READ_DIFFERENTLY = re.compile(r"[\t?\ufeff\ud800-\udfff]|!(?!= )|[|>][-+0-9]*#|[^\n]\Z")
"""Where libyaml takes what PyYAML refuses, or counts columns otherwise.

These are tabs between values, question marks inside flow style, byte-order marks within the text, lone surrogates,
tags, a comment that touches the head of a block scalar, and empty values at an end without a line break. The test of
both parsers on random texts shows that there are no others.
"""

_NO_CHARACTER = re.compile(r"\\U(?!000|0010)[0-9A-Fa-f]{8}")
"""An escape sequence beyond the last character of Unicode."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A file's top-level mapping, and the mistakes that left the rest of it readable."""

    root: Mapping
    problems: tuple[Problem, ...]


def read_file(path: Path, shown: str | None = None) -> Reading:
    """Read one YAML file.

    Args:
        path: the file; UTF-8, with or without byte-order mark, any line ends, at most 1 MiB.
        shown: the name under which messages speak of it; the path as given where None.
    Returns:
        Its top-level mapping (empty where the file is) with every duplicate key and unsupported construct.
    Raises:
        ConfigError: the file can't be read at all; the first syntax error; an alias without an anchor.
    """
    name = shown or str(path)
    content = _read_bytes(path, name)
    try:
        return read_text(content.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8-sig", "replace")
        place = place_of(before, len(before), name)
        raise single(place, f"byte {error.start} is not UTF-8", "a text file in UTF-8") from error


def read_text(text: str, name: str) -> Reading:
    """Read YAML text; `name` stands for the file in messages. See `read_file`."""
    composed = _compose_quickly(text, name) or _compose(text, name)
    root = composed.root
    if root is None or (isinstance(root, Scalar) and not root.text):
        return Reading(Mapping({}, {}, Location(name, 1, 1)), composed.problems)
    if not isinstance(root, Mapping):
        raise single(root.location, f"{describe_node(root)} is all there is", "keys with values, `key: value`")
    return Reading(root, composed.problems)


def read_value(text: str, location: Location, path: str) -> Node:
    """Read the value of an override, `--set path=text`, as the same YAML that a file would hold.

    Args:
        text: the characters after the equals sign; nothing means an empty text.
        location: what stands for the file in messages.
        path: dotted path of the key, for messages.
    Raises:
        ConfigError: the text is not one YAML value, or a part of it would be lost as a comment.
    """
    try:
        composed = _compose(text, location.file, location, path)
    except ConfigError as error:
        # The line and column of a syntax error would be counted within the value: the key says where it is.
        found = [replace(problem, location=location, path=problem.path or path) for problem in error.problems]
        raise ConfigError(found) from error
    if composed.root is None and not text.strip():
        return Scalar("", True, location)
    lost = text[composed.end :].strip()
    if composed.root is None or lost:
        allowed = "quotation marks around a value with ' #'"
        raise ConfigError([Problem(location, path, f"{lost} is a comment to YAML", allowed)])
    if composed.problems:
        raise ConfigError(composed.problems)
    return composed.root


def name_nearby(path: Path) -> str:
    """The name of a file in the same folder that is nearly that of a missing one, or an empty string."""
    return nearest(path.name, (other.name for other in path.parent.glob("*") if other.is_file()))


def _read_bytes(path: Path, name: str) -> bytes:
    """The file's content.

    Raises:
        ConfigError: there is no such file, or it is too large.
    """
    try:
        with path.open("rb") as file:
            # One byte more shows that there is more, and a device without an end does no harm.
            content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError as error:
        near = name_nearby(path)
        raise single(Location(name, 0), "no such file", "", near and str(path.with_name(near))) from error
    except OSError as error:
        raise single(Location(name, 0), f"can't be read: {error.strerror or error}") from error
    except ValueError as error:
        raise single(Location(repr(name), 0), "is not the name of a file") from error
    if len(content) > _MOST_BYTES:
        raise single(Location(name, 0), "is too large for a configuration", f"at most {_MOST_BYTES} bytes")
    return content


def _compose_quickly(text: str, name: str) -> Composed | None:
    """The same as `_compose` where libyaml is there and certain to agree with it, else None."""
    if _FAST_LOADER is None or _READ_DIFFERENTLY.search(text):
        return None
    try:
        return compose(yaml.parse(text, Loader=_FAST_LOADER), name)
    except yaml.YAMLError:
        return None


def _compose(text: str, name: str, fixed: Location | None = None, path: str = "") -> Composed:
    """The nodes of the text.

    Raises:
        ConfigError: syntax errors, and what `mf_config.compose` refuses.
    """
    return compose(_events(text, name), name, fixed, path)


def _events(text: str, name: str) -> Iterator[yaml.Event]:
    """What PyYAML finds in the text.

    Raises:
        ConfigError: syntax errors.
    """
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        raise explain_syntax(error, text, name) from error
    except yaml.reader.ReaderError as error:
        place = place_of(text, error.position, name)
        raise single(place, f"character U+{error.character:04X} is not allowed in YAML") from error
    except (ValueError, OverflowError) as error:
        # PyYAML lets Python's own errors through where an escape sequence or a version directive has absurd digits.
        escape = _NO_CHARACTER.search(text)
        place = place_of(text, escape.start() if escape else 0, name)
        raise single(place, "the digits stand for no character or YAML version") from error
