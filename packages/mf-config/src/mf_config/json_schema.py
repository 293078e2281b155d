"""The schema of a run configuration as JSON Schema (2020-12), for editors that check YAML while it is typed."""

import dataclasses
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from mf_config.components import components
from mf_config.schema import TYPE_KEY, Key, declarations, tag_of
from mf_config.sections.run import RunConfig

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SCALARS: dict[Any, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    # 1e-5 without a dot is text to the YAML 1.1 readers in editors.
    float: {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[+-]?[0-9.]+[eE][+-]?[0-9]+$"}]},
    str: {"type": ["string", "number", "boolean"]},
    Any: {},
}


def json_schema() -> dict[str, Any]:
    """The whole schema, with the components of all installed packages."""
    schema = _section(RunConfig)
    # A file with a base leaves out what the base has.
    schema["anyOf"] = [{"required": ["base_config"]}, {"required": schema.pop("required")}]
    schema["properties"]["base_config"] = {
        "description": "Files to read first, relative to this one; this file's keys win.",
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
    }
    return {"$schema": _DIALECT, "title": "mf run configuration", **schema}


def _section(cls: type) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    tag = tag_of(cls)
    if tag:
        properties[TYPE_KEY] = {"enum": list(tag.names)}
        required.append(TYPE_KEY)
    for name, declared in declarations(cls).items():
        properties[name] = {"description": declared.key.doc}
        if not declared.key.alias_suffix:
            properties[name] |= _type(declared.annotation, declared.key)
        if declared.required:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _scalar(annotation: Any, declared: Key) -> dict[str, Any]:
    """The schema of one plain value within the key's limits."""
    limits: dict[str, Any] = {}
    if annotation in (int, float):
        bounds = {"minimum": declared.minimum, "maximum": declared.maximum, "exclusiveMinimum": declared.above}
        limits = {name: bound for name, bound in bounds.items() if bound is not None}
    if declared.allowed:
        limits["enum"] = list(declared.allowed)
    return {**_SCALARS[annotation], **limits}


def _type(annotation: Any, declared: Key) -> dict[str, Any]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        classes = dict.fromkeys(components(arguments[1].kind).values())
        return {"oneOf": [_section(cls) for cls in classes]} if classes else {"type": "object"}
    if origin in (Union, UnionType):
        return _union(arguments, declared)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        return {"type": "array", "items": _type(arguments[0], declared)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type(arguments[1], declared)}
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return _section(annotation)
    return _scalar(annotation, declared)


def _union(arguments: tuple[Any, ...], declared: Key) -> dict[str, Any]:
    choices = [_type(choice, declared) for choice in arguments if choice is not NoneType]
    if NoneType in arguments:
        choices.append({"enum": [None, "None", ""]})
    return choices[0] if len(choices) == 1 else {"anyOf": choices}
