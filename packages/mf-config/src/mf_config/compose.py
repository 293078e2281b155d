"""YAML events into located nodes: anchors, aliases, merge keys, and every mistake that no grammar knows of."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from mf_config.merge_keys import MERGE_KEY, apply_merge_key
from mf_config.nodes import Mapping, Node, Scalar, Sequence, describe_node, describe_place, join_path
from mf_config.problems import ConfigError, Location, Problem, name_values
from mf_config.suggest import nearest
from mf_config.syntax_errors import single

_TAG = "tag:yaml.org,2002:"
_SCALAR_TAGS = frozenset(
    f"{_TAG}{name}" for name in ("bool", "float", "int", "merge", "null", "str", "timestamp", "value")
)
_CONTAINER_TAGS = frozenset({f"{_TAG}map", f"{_TAG}seq"})

_Event = Any
"""A `yaml.Event`; the types published for it have neither its marks nor what only some events carry."""

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""What the escape sequences of JSON, `\\ud83d\\ude00`, become in YAML: texts that nothing can write to a file."""

_DEEPEST = 100
"""Levels of nesting, through aliases too; far beyond any configuration, far below Python's recursion limit."""

_MOST_VALUES = 100_000
"""Keys and values of a file, an alias counted as often as it is used with all that it stands for."""


@dataclass(frozen=True, slots=True)
class Composed:
    """What a text holds.

    Attributes:
        root: the whole document, None where there is none.
        problems: the mistakes that left the rest readable.
        end: index of the character after the document.
    """

    root: Node | None
    problems: tuple[Problem, ...]
    end: int


def compose(events: Iterator[yaml.Event], name: str, fixed: Location | None = None, path: str = "") -> Composed:
    """Make the nodes of one YAML document.

    Args:
        events: what a YAML parser found, `yaml.parse(text, Loader=yaml.BaseLoader)`.
        name: stands for the file in messages.
        fixed: the location of every node where the text is no file.
        path: dotted path of the document's root.
    Raises:
        ConfigError: an alias has no anchor above it; the nesting or the number of values is absurd; a second document.
        yaml.YAMLError: from the events; the text is not YAML.
    """
    composer = _Composer(events, name, fixed)
    root = composer.compose_document(path)
    composer.report_broken_aliases()
    return Composed(root, tuple(composer.problems), composer.end)


@dataclass(slots=True)
class _Anchor:
    """An anchor's place, and its node (None while it is still open) with its expanded number of values and height."""

    location: Location
    node: Node | None = None
    values: int = 0
    height: int = 0


class _Composer:
    """Takes the events one by one, and gathers what is wrong on the way."""

    def __init__(self, events: Iterator[_Event], name: str, fixed: Location | None):
        self.problems: list[Problem] = []
        self.end = 0
        self._events = events
        self._name = name
        self._fixed = fixed
        self._anchors: dict[str, _Anchor] = {}
        self._broken_aliases: list[tuple[str, Location, str]] = []
        self._values = 0
        self._reached = 0

    def compose_document(self, path: str) -> Node | None:
        """The only document of the events, None where there is none."""
        root, start = None, None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                place = self._locate(event)
                if start is not None:
                    what = f"a second document begins here; the first begins at {describe_place(start)}"
                    raise single(place, what, "one document a file")
                start, root = place, self._compose(next(self._events), path, 0)
        return root

    def report_broken_aliases(self) -> None:
        """Refuse the document where an alias has no anchor: only now are all anchors known.

        Raises:
            ConfigError: with every such alias and what was found before.
        """
        found = [self._broken_alias(*alias) for alias in self._broken_aliases]
        if found:
            raise ConfigError([*self.problems, *found])

    def _compose(self, event: _Event, path: str, depth: int) -> Node:
        """The node that begins with an event, `depth` levels below the root."""
        location = self._locate(event)
        if isinstance(event, yaml.AliasEvent):
            return self._follow(event, location, path, depth)
        self._count(1, depth, location)
        self._check_tag(event, path, location)
        if event.anchor is None:
            return self._compose_new(event, path, location, depth)
        anchor = self._open_anchor(event.anchor, path, location)
        reached_before, values_before = self._reached, self._values
        self._reached = depth
        anchor.node = self._compose_new(event, path, location, depth)
        anchor.values, anchor.height = self._values - values_before + 1, self._reached - depth
        self._reached = max(self._reached, reached_before)
        return anchor.node

    def _compose_new(self, event: _Event, path: str, location: Location, depth: int) -> Node:
        node: Node
        if isinstance(event, yaml.MappingStartEvent):
            node = self._compose_mapping(path, location, depth)
        elif isinstance(event, yaml.SequenceStartEvent):
            items: list[Node] = []
            while not isinstance(item := next(self._events), yaml.SequenceEndEvent):
                items.append(self._compose(item, f"{path}[{len(items)}]", depth + 1))
            self._end_with(item)
            node = Sequence(tuple(items), location)
        else:
            if _HALF_CHARACTER.search(event.value):
                raise ConfigError(
                    [Problem(location, path, "an escape sequence stands for half a character", "the character")]
                )
            self._end_with(event)
            node = Scalar(event.value, _is_quoted(event), location)
        return node

    def _compose_mapping(self, path: str, location: Location, depth: int) -> Mapping:
        own = Mapping({}, {}, location)
        merges: dict[str, tuple[Location, Node]] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            place, key = self._locate(event), self._compose(event, path, depth + 1)
            if not isinstance(key, Scalar):
                self._compose(next(self._events), path, depth + 1)
                self.problems.append(Problem(place, path, "a list or mapping is used as a key", "text"))
                continue
            here = join_path(path, key.text)
            value = _place_nothing(self._compose(next(self._events), here, depth + 1), place)
            if _is_merge_key(event) and not merges:
                merges[MERGE_KEY] = place, value
            elif _is_merge_key(event):
                self.problems.append(_written_twice(merges[MERGE_KEY], (place, value), here))
            elif key.text in own.entries:
                first = own.key_locations[key.text], own.entries[key.text]
                self.problems.append(_written_twice(first, (place, value), here))
            else:
                own.entries[key.text], own.key_locations[key.text] = value, place
        self._end_with(event)
        for place, value in merges.values():
            self.problems += apply_merge_key(own, value, place, path)
        return own

    def _open_anchor(self, name: str, path: str, location: Location) -> _Anchor:
        if name in self._anchors:
            first, again = describe_place(self._anchors[name].location), describe_place(location)
            what = f"the anchor &{name} is written twice: first at {first}, again at {again}"
            self.problems.append(Problem(location, path, what, "a name of its own for each anchor"))
        self._anchors[name] = _Anchor(location)
        return self._anchors[name]

    def _follow(self, event: _Event, location: Location, path: str, depth: int) -> Node:
        """The very object of the anchor that an alias names, or an empty section where there is none."""
        anchor = self._anchors.get(event.anchor)
        if anchor is None or anchor.node is None:
            self._broken_aliases.append((event.anchor, location, path))
            return Mapping({}, {}, location)
        self._count(anchor.values, depth + anchor.height, location)
        return anchor.node

    def _broken_alias(self, name: str, location: Location, path: str) -> Problem:
        anchor, alias = self._anchors.get(name), f"*{name} at {describe_place(location)}"
        if anchor is None:
            places = (f"&{known} at {describe_place(other.location)}" for known, other in self._anchors.items())
            near = nearest(name, self._anchors)
            allowed = name_values(places) or f"an anchor &{name} above"
            return Problem(location, path, f"{alias} has no anchor", allowed, near and f"*{near}")
        there = describe_place(anchor.location)
        if location < anchor.location:
            return Problem(location, path, f"{alias} comes before its anchor at {there}", "an anchor above its alias")
        return Problem(location, path, f"{alias} stands inside its own anchor at {there}", "no cycles")

    def _count(self, values: int, depth: int, location: Location) -> None:
        """Count values that reach down to `depth`.

        Raises:
            ConfigError: there are too many, or they are nested too deeply.
        """
        self._values += values
        self._reached = max(self._reached, depth)
        if self._values > _MOST_VALUES:
            what = f"more than {_MOST_VALUES} keys and values, counting each alias with all that it stands for"
            raise single(location, what)
        if depth > _DEEPEST:
            raise single(location, f"nested more than {_DEEPEST} levels deep")

    def _check_tag(self, event: _Event, path: str, location: Location) -> None:
        known = _SCALAR_TAGS if isinstance(event, yaml.ScalarEvent) else _CONTAINER_TAGS
        if event.tag not in (None, "!") and event.tag not in known:
            what = f"the tag {event.tag.replace(_TAG, '!!')} is not read"
            self.problems.append(Problem(location, path, what, "plain values"))

    def _end_with(self, event: _Event) -> None:
        self.end = event.end_mark.index

    def _locate(self, event: _Event) -> Location:
        mark = event.start_mark
        return self._fixed or Location(self._name, mark.line + 1, mark.column + 1)


def _is_quoted(event: _Event) -> bool:
    """Whether a scalar is text on purpose: a tag (`!!str 5`, `!!bool "true"`) says more than quotation marks do."""
    if event.tag in _SCALAR_TAGS:
        return bool(event.tag == f"{_TAG}str")
    return bool(event.style)


def _is_merge_key(event: _Event) -> bool:
    """Whether a key is `<<` without quotation marks."""
    return isinstance(event, yaml.ScalarEvent) and event.value == MERGE_KEY and not event.style


def _place_nothing(value: Node, place: Location) -> Node:
    """A value of no characters has no place of its own: it stands where its key does."""
    if isinstance(value, Scalar) and not value.text and not value.quoted:
        return Scalar("", False, place)
    return value


def _written_twice(first: tuple[Location, Node], again: tuple[Location, Node], path: str) -> Problem:
    """The problem of a key that has two places and values."""
    (there, value), (here, second) = first, again
    what = "key written twice"
    if here.line:
        what += f": first at {describe_place(there)}, again at {describe_place(here)}"
    if isinstance(value, Scalar) and isinstance(second, Scalar):
        what += f" ({describe_node(value)} there, {describe_node(second)} here)"
    return Problem(here, path, what, "one definition")
