"""A YAML document with the place of every value: what the reader makes and the binder takes apart."""

from dataclasses import dataclass

from mf_config.problems import Location, Problem

_LONGEST = 60
"""Characters of a value that a message quotes."""


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A value as it was written; what type it has depends on the field that takes it.

    Attributes:
        text: the characters, without quotation marks.
        quoted: whether quotation marks (or a block style) made it text on purpose.
        location: where it stands; the place of its key where nothing is written.
    """

    text: str
    quoted: bool
    location: Location


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """A list."""

    items: tuple["Node", ...]
    location: Location


@dataclass(frozen=True, slots=True, eq=False)
class Mapping:
    """Keys and values; an alias in the file is the same object as its anchor.

    Attributes:
        entries: key to value, in the order of the file.
        key_locations: where each key stands.
        location: where the mapping begins.
    """

    entries: dict[str, "Node"]
    key_locations: dict[str, Location]
    location: Location


Node = Scalar | Sequence | Mapping


@dataclass(frozen=True, slots=True)
class Document:
    """A run configuration as written: file, base files and overrides merged, nothing interpreted.

    Attributes:
        file: the file's name as the user gave it.
        root: the top-level mapping.
        sources: every file that was read, base files first.
        problems: mistakes of writing that left the rest readable (a key written twice); decoding reports them together
            with its own.
    """

    file: str
    root: Mapping
    sources: tuple[str, ...]
    problems: tuple[Problem, ...] = ()


def describe_node(node: Node) -> str:
    """What stands in the file, as a message quotes it."""
    if not isinstance(node, Scalar):
        return "a list" if isinstance(node, Sequence) else "a section"
    text = node.text if len(node.text) <= _LONGEST else node.text[:_LONGEST] + "…"
    if not text.isprintable():
        return repr(text)
    return f"'{text}'" if node.quoted or not text else text


def describe_place(location: Location) -> str:
    """Where something stands in a file that the message names already, or on the command line."""
    return f"line {location.line}, column {location.column}" if location.line else location.file


def same_value(left: Node, right: Node) -> bool:
    """Whether two nodes were written alike; the order of keys doesn't count."""
    if left is right:
        return True
    if isinstance(left, Scalar) and isinstance(right, Scalar):
        return (left.text, left.quoted) == (right.text, right.quoted)
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        pairs = zip(left.items, right.items, strict=False)
        return len(left.items) == len(right.items) and all(same_value(one, other) for one, other in pairs)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        names = left.entries.keys()
        return names == right.entries.keys() and all(
            same_value(left.entries[name], right.entries[name]) for name in names
        )
    return False


def join_path(path: str, name: str) -> str:
    """The dotted path of a key inside the section at `path`, which is empty for the file itself."""
    shown = name if name.isprintable() else repr(name)
    return f"{path}.{shown}" if path else shown
