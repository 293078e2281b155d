"""The whole schema, key by key and section by section: what `explain`, the reference page and the checks walk."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from mf_config.components import components
from mf_config.describe import describe_type
from mf_config.nodes import join_path
from mf_config.schema import ALL_MODES, TYPE_KEY, ComponentTag, Declaration, Key, declarations, tag_of
from mf_config.sections.run import RunConfig


@dataclass(frozen=True, slots=True)
class Part:
    """A section class at one place of the file: `context`, or `optimizer` with type AdamW.

    Attributes:
        path: dotted path of the section, empty for the file itself; `callbacks[]` for the elements of a list.
        owner: the section class.
        chooser: the key that chooses it where it is a component.
        parent: the key that holds it, None for the file itself.
    """

    path: str
    owner: type
    chooser: str = TYPE_KEY
    parent: "Entry | None" = None

    @property
    def tag(self) -> ComponentTag | None:
        """Kind and names where it is a component."""
        return tag_of(self.owner)

    @property
    def doc(self) -> str:
        """What it configures: the first paragraph of the class's docstring in one line."""
        return " ".join((self.owner.__doc__ or "").partition("\n\n")[0].split())

    @property
    def entries(self) -> tuple["Entry", ...]:
        """Its keys, in the order of their declaration."""
        return tuple(Entry(self, declared) for declared in declarations(self.owner).values())

    def stands_in(self, owner: type) -> bool:
        """Whether it is a section of a class, or lies inside one."""
        return self.owner is owner or (self.parent is not None and self.parent.part.stands_in(owner))


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of the schema.

    Attributes:
        part: the section that has it.
        declared: its name, type, default and `Key`.
    """

    part: Part
    declared: Declaration

    @property
    def path(self) -> str:
        """Dotted path, with `[]` for the elements of a list."""
        return join_path(self.part.path, self.name)

    @property
    def name(self) -> str:
        """The field's name."""
        return self.declared.name

    @property
    def key(self) -> Key:
        """Its declaration."""
        return self.declared.key

    @property
    def default(self) -> Any:
        """Its default, `REQUIRED` where it must be given."""
        return self.declared.default

    @property
    def component(self) -> tuple[str, ...]:
        """The names of the component under which it exists, empty for a key of a plain section."""
        return self.part.tag.names if self.part.tag else ()

    @property
    def type_text(self) -> str:
        """The type in words."""
        return describe_type(self.declared.annotation)

    @property
    def modes(self) -> tuple[str, ...]:
        """The run modes that read it: its own, or those of the sections around it."""
        if self.key.modes:
            return self.key.modes
        return self.part.parent.modes if self.part.parent else ALL_MODES

    @property
    def inert(self) -> str:
        """Why it never has an effect, be it for itself or for a section around it; empty where it has one."""
        around = self.part.parent.inert if self.part.parent else ""
        return self.key.inert or (self.part.tag.inert if self.part.tag else "") or around

    @property
    def pending(self) -> str:
        """Why a run can't use it yet, be it for itself or for a section around it; empty where a run can."""
        around = self.part.parent.pending if self.part.parent else ""
        return self.key.pending or (self.part.tag.pending if self.part.tag else "") or around

    def parts(self) -> Iterator[Part]:
        """The sections that it may hold; none where it repeats another key, or where they would hold each other."""
        if self.key.alias_suffix:
            return
        for suffix, owner, chooser in sections_in(self.declared.annotation):
            if not self.part.stands_in(owner):
                yield Part(self.path + suffix, owner, chooser, self)


def outline() -> Iterator[Entry]:
    """Every key of a run configuration, components of all installed packages included, in schema order."""
    yield from _entries(Part("", RunConfig))


def parts() -> Iterator[Part]:
    """Every section of a run configuration, the file itself first, each before those inside it."""
    yield from _parts(Part("", RunConfig))


def sections_in(annotation: Any) -> Iterator[tuple[str, type, str]]:
    """The section classes that a field may hold.

    Yields:
        What the class's place adds to the field's path (`[]` in a list), the class, the key that chooses it.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        asked = arguments[1]
        yield from (("", cls, asked.chooser) for cls in dict.fromkeys(components(asked.kind).values()))
    elif origin in (Union, UnionType):
        for choice in arguments:
            yield from sections_in(choice)
    elif origin in (tuple, dict):
        suffix, held = ("[]", arguments[0]) if origin is tuple else (".*", arguments[1])
        yield from ((suffix + inner, cls, chooser) for inner, cls, chooser in sections_in(held))
    elif isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        yield "", annotation, TYPE_KEY


def _entries(part: Part) -> Iterator[Entry]:
    for entry in part.entries:
        yield entry
        for inner in entry.parts():
            yield from _entries(inner)


def _parts(part: Part) -> Iterator[Part]:
    yield part
    for entry in part.entries:
        for inner in entry.parts():
            yield from _parts(inner)
