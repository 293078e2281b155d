"""The schema of a run configuration as JSON Schema (2020-12), for editors that check YAML while it is typed.

Each section class is one definition. A component is chosen with `if` and `then`, one pair a component, so that an
editor completes and explains the keys of the type that stands in the file, and names a wrong key alone.
"""

import dataclasses
import json
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from mf_config.components import chooser_in, components
from mf_config.describe import describe_allowed, describe_default, describe_remarks
from mf_config.dump import can_be_written, to_plain
from mf_config.outline import Part
from mf_config.scalar_schema import scalar_schema
from mf_config.schema import REQUIRED, TYPE_KEY, ComponentOf, Declaration, Key, declarations, tag_of
from mf_config.sections.run import RunConfig

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = (bool, int, float, str)


def json_schema() -> dict[str, Any]:
    """The whole schema, with the components of all installed packages."""
    definitions = _Definitions()
    schema = definitions.body(RunConfig)
    schema["properties"]["base_config"] = {
        "description": "Files to read first, relative to this one; this file's keys win.",
        "anyOf": [{"type": ["string", "null"]}, {"type": "array", "items": {"type": "string"}}],
    }
    return {
        "$schema": _DIALECT,
        "title": "mf run configuration",
        "description": Part("", RunConfig).doc,
        "type": "object",
        **schema,
        "$defs": dict(sorted(definitions.found.items())),
    }


class _Definitions:
    """Makes the schemas of sections, each once: `found` has them by name."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}
        self._names: dict[tuple[Any, str], str] = {}

    def body(self, cls: type, chooser: str = TYPE_KEY) -> dict[str, Any]:
        """The keys of a section class; the chooser of a component is checked where it is chosen."""
        properties: dict[str, Any] = {chooser: {}} if tag_of(cls) else {}
        properties |= {name: self._property(declared) for name, declared in declarations(cls).items()}
        schema: dict[str, Any] = {"properties": properties, "additionalProperties": False}
        required = _required(cls)
        return {**schema, "required": required} if required else schema

    def _property(self, declared: Declaration) -> dict[str, Any]:
        described: dict[str, Any] = {"description": declared.key.doc}
        if hover := _hover(declared):
            described["markdownDescription"] = hover
        if declared.key.deprecated:
            described["deprecated"] = True
        if _is_json(default := _default(declared)):
            described["default"] = default
        # The body of a section that repeats another one is not read, so anything may stand there.
        return described if declared.key.alias_suffix else described | self._type(declared.annotation, declared.key)

    def _type(self, annotation: Any, declared: Key) -> dict[str, Any]:
        """What a value of this type looks like."""
        origin, arguments = get_origin(annotation), get_args(annotation)
        choices = arguments if origin in (Union, UnionType) else (annotation,)
        plain = [choice for choice in choices if choice in (*_PLAIN, NoneType) or get_origin(choice) is Literal]
        schemas = [self._structure(choice, declared) for choice in choices if choice not in plain]
        return _any_of([*schemas, scalar_schema(plain, declared)] if plain else schemas)

    def _structure(self, annotation: Any, declared: Key) -> dict[str, Any]:
        """A section, a list, or anything."""
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            return {"type": "object", **self._chosen(arguments[1])}
        if origin is tuple:
            return {"type": "array", "items": self._type(arguments[0], declared)}
        if origin is dict:
            # The limits of a key are those of its numbers, not of what a mapping holds.
            return {"type": "object", "additionalProperties": self._type(arguments[1], Key(doc=""))}
        if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
            section = {"type": "object", **self._section(annotation, TYPE_KEY)}
            # A section that is opened and left empty has its defaults.
            return section if _required(annotation) else _any_of([section, scalar_schema([NoneType], declared)])
        return {}

    def _chosen(self, asked: ComponentOf) -> dict[str, Any]:
        """A section that any component of a kind may configure."""
        known = components(asked.kind)
        if not known:
            return {}
        name = "-".join([asked.kind, *([asked.chooser] if asked.chooser != TYPE_KEY else []), asked.otherwise]).strip(
            "-"
        )
        if name not in self.found:
            self.found[name] = {}
            conditions = [self._condition(cls, asked) for cls in dict.fromkeys(known.values())]
            chosen = {"properties": {asked.chooser: _names(known)}, "allOf": conditions}
            self.found[name] |= chosen if asked.otherwise in known else {**chosen, "required": [asked.chooser]}
        return _reference(name)

    def _condition(self, cls: type, asked: ComponentOf) -> dict[str, Any]:
        tag = tag_of(cls)
        assert tag is not None, "components are tagged"
        named: dict[str, Any] = {"properties": {asked.chooser: {"enum": list(tag.names)}}}
        if asked.otherwise not in tag.names:
            # Without this, a section that has no type yet would have to fit every component.
            named["required"] = [asked.chooser]
        return {"if": named, "then": self._section(cls, asked.chooser)}

    def _section(self, cls: type, chooser: str) -> dict[str, Any]:
        if (cls, chooser) not in self._names:
            tag = tag_of(cls)
            name = f"{tag.kind}.{tag.names[0]}" if tag else cls.__name__
            if name in self.found:
                name = f"{cls.__module__}.{name}"
            self._names[cls, chooser] = name
            # Known before it is made: sections may hold each other.
            self.found[name] = {}
            self.found[name] |= {"description": _about(cls), **self.body(cls, chooser)}
        return _reference(self._names[cls, chooser])


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """One of some schemas, as a single one where that says the same: its complaints are easier to understand.

    It does where each schema is for types of its own and its keywords say nothing of values of other types.
    """
    if {} in schemas:
        return {}
    keywords = [name for schema in schemas for name in schema if name != "type"]
    if len(keywords) != len(set(keywords)) or {"enum", "anyOf"} & set(keywords):
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    types = [
        kind for schema in schemas for kind in ([schema["type"]] if isinstance(schema["type"], str) else schema["type"])
    ]
    merged = {name: value for schema in schemas for name, value in schema.items()}
    return merged | {"type": types[0] if len(types) == 1 else list(dict.fromkeys(types))}


def _required(cls: type) -> list[str]:
    return [name for name, declared in declarations(cls).items() if declared.required]


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _names(known: Any) -> dict[str, Any]:
    """The names of a kind's components, each with what it is for, as editors list them."""
    return {"enum": list(known), "enumDescriptions": [_about(cls) for cls in known.values()]}


def _about(cls: type) -> str:
    """What a section is for, and why it can't be used where that is so."""
    part = Part("", cls)
    inert, pending = (part.tag.inert, part.tag.pending) if part.tag else ("", "")
    remarks = [f"Has no effect: {inert}."] if inert else []
    remarks += [f"Can't be run yet: {pending}."] if pending else []
    return " ".join([part.doc, *remarks])


def _hover(declared: Declaration) -> str:
    """The facts of a key as Markdown; empty where its purpose is all there is to say."""
    facts = [("default", describe_default(declared.default)), ("allowed", describe_allowed(declared.key))]
    facts += describe_remarks(declared.key)
    lines = [f"* {heading}: {text}" for heading, text in facts if text]
    return "\n".join([declared.key.doc, "", *lines])


def _default(declared: Declaration) -> Any:
    """A key's default as JSON has it, `REQUIRED` where it has none that can be written, or a section's keys tell it."""
    if dataclasses.is_dataclass(declared.default) or not can_be_written(declared, declared.default):
        return REQUIRED
    return to_plain(declared.default, chooser_in(declared.annotation))


def _is_json(value: Any) -> bool:
    if value is REQUIRED:
        return False
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True
