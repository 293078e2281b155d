"""The whole schema as a flat list of keys: what `explain`, the reference page and the check for unread keys walk."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from mf_config.components import components
from mf_config.describe import describe_type
from mf_config.nodes import join_path
from mf_config.schema import ALL_MODES, Key, declarations, tag_of
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
        return describe_type(self.annotation)


def outline() -> Iterator[Entry]:
    """Every key of a run configuration, components of all installed packages included, in schema order."""
    yield from _walk(RunConfig, "", ALL_MODES)


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
    names = tag.names if tag else ()
    for name, declared in declarations(cls).items():
        here = join_path(path, name)
        own_modes = declared.key.modes or modes
        yield Entry(here, names, cls, name, declared.annotation, declared.key, declared.default, own_modes)
        if not declared.key.alias_suffix:
            for suffix, section in sections_in(declared.annotation):
                yield from _walk(section, here + suffix, own_modes)
