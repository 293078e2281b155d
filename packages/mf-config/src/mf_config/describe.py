"""Types, ranges and remarks in words, the same words in messages, in `explain` and on the reference page."""

import dataclasses
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from mf_config.components import components
from mf_config.problems import name_values
from mf_config.schema import REQUIRED, ComponentOf, Key

_WORDS: dict[Any, str] = {bool: "True, False", int: "an integer", float: "a number", str: "text"}
_PLURALS: dict[Any, str] = {bool: "booleans", int: "integers", float: "numbers", str: "texts", tuple: "lists"}


def describe_type(annotation: Any) -> str:
    """What a field of this type takes."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return f"a section with {_choices(arguments[1])}"
    if origin in (Union, UnionType):
        choices = (describe_type(choice) for choice in arguments if choice is not NoneType)
        return " or ".join(dict.fromkeys(choices))
    if origin is Literal:
        return name_values(arguments)
    if origin is tuple:
        return _describe_list(arguments[0])
    if origin is dict or dataclasses.is_dataclass(annotation):
        return "a section"
    return _WORDS.get(annotation, "a value")


def describe_range(declared: Key) -> str:
    """The numbers that a key takes: `from 1`, `above 0, up to 1`; empty where there are no bounds."""
    bounds = (("from", declared.minimum), ("above", declared.above), ("up to", declared.maximum))
    return ", ".join(f"{word} {bound:.15g}" for word, bound in bounds if bound is not None)


def describe_allowed(declared: Key) -> str:
    """The values or the range that a key takes; empty where its type says it all."""
    return name_values(declared.allowed) or describe_range(declared)


def describe_default(default: Any) -> str:
    """A key's default as a person would write it."""
    if default is REQUIRED:
        return "must be given"
    if default is None:
        return "not set"
    if default == ():
        return "an empty list"
    if isinstance(default, tuple):
        return f"[{', '.join(map(describe_default, default))}]"
    if dataclasses.is_dataclass(default):
        return "a section of defaults"
    return repr(default) if isinstance(default, str) else str(default)


def describe_remarks(declared: Key) -> Iterator[tuple[str, str]]:
    """What else is to be known of a key beside its purpose, type, default and allowed values.

    Yields:
        A heading without a colon, and what follows it.
    """
    runs = name_values("unset" if value is None else value for value in declared.runs)
    runnable = f" (a run takes {runs} only)" if runs else " (a run takes the default only)"
    remarks = {
        "unit": declared.unit,
        "sets in MindSpore": declared.mindspore,
        "counts only while this is on": declared.needs,
        "deprecated": declared.deprecated,
        "has no effect": declared.inert,
        **{f"has no effect on {device}": reason for device, reason in declared.inert_on.items()},
        "can't be run yet": declared.pending and declared.pending + runnable,
    }
    yield from ((heading, text) for heading, text in remarks.items() if text)


def _describe_list(item: Any) -> str:
    if get_origin(item) is Annotated:
        return f"a list of sections with {_choices(get_args(item)[1])}"
    if dataclasses.is_dataclass(item):
        return "a list of sections"
    plural = _PLURALS.get(get_origin(item) or item)
    return f"a list of {plural}" if plural else "a list"


def _choices(asked: ComponentOf) -> str:
    """The key that chooses a component, and the values that it takes."""
    return f"{asked.chooser}: {name_values(components(asked.kind)) or asked.kind}"
