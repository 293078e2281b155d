"""The whole schema as a flat list of keys: what `explain`, the reference page and the check for unread keys walk."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from mf_config.bind import hints_of
from mf_config.components import components
from mf_config.problems import name_values
from mf_config.schema import ALL_MODES, REQUIRED, Key, key_of, tag_of
from mf_config.sections.run import RunConfig


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of the schema.

    Attributes:
        path: dotted path; `callbacks[]` for the elements of a list.
        component: the `type:` names under which the key exists, empty for a key of a plain section.
        owner: the section class that declares it.
        name: the field's name.
        annotation: its type.
        key: its declaration.
        default: its default, `REQUIRED` where it must be given.
        modes: the run modes that read it.
    """

    path: str
    component: tuple[str, ...]
    owner: type
    name: str
    annotation: Any
    key: Key
    default: Any
    modes: tuple[str, ...]

    @property
    def type_text(self) -> str:
        """The type in words."""
        return describe(self.annotation)


def outline() -> Iterator[Entry]:
    """Every key of a run configuration, components of all installed packages included, in schema order."""
    yield from _walk(RunConfig, "", ALL_MODES)


def describe(annotation: Any) -> str:
    """A field's type in the words of a reference page."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return f"section, type: {name_values(components(arguments[1].kind)) or 'any'}"
    if origin in (Union, UnionType):
        return " or ".join(describe(choice) for choice in arguments if choice is not NoneType)
    if origin is Literal:
        return name_values(arguments)
    if origin is tuple:
        return f"list of {describe(arguments[0])}"
    if origin is dict:
        return f"names with {describe(arguments[1])}"
    if dataclasses.is_dataclass(annotation):
        return "section"
    return {bool: "boolean", int: "integer", float: "number", str: "text"}.get(annotation, "any value")


def sections_in(annotation: Any) -> Iterator[tuple[str, type]]:
    """The section classes that a field may hold, each with `[]` where it stands in a list, else an empty text."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from (("", cls) for cls in dict.fromkeys(components(arguments[1].kind).values()))
    elif origin in (Union, UnionType):
        for choice in arguments:
            yield from sections_in(choice)
    elif origin is tuple:
        yield from (("[]", cls) for _, cls in sections_in(arguments[0]))
    elif isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        yield "", annotation


def _walk(cls: type, path: str, modes: tuple[str, ...]) -> Iterator[Entry]:
    tag = tag_of(cls)
    for declared in dataclasses.fields(cls):
        details = key_of(declared)
        here = f"{path}.{declared.name}" if path else declared.name
        annotation = hints_of(cls)[declared.name]
        own_modes = details.modes or modes
        default = declared.default if declared.default is not REQUIRED else REQUIRED
        names = tag.names if tag else ()
        yield Entry(here, names, cls, declared.name, annotation, details, default, own_modes)
        if not details.alias_suffix:
            for suffix, section in sections_in(annotation):
                yield from _walk(section, here + suffix, own_modes)
