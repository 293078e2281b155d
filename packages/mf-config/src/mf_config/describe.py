"""Types and ranges in words, the same words in messages, in `explain` and on the reference page."""

import dataclasses
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from mf_config.components import components
from mf_config.problems import name_values
from mf_config.schema import Key

_WORDS: dict[Any, str] = {bool: "True, False", int: "an integer", float: "a number", str: "text"}
_PLURALS: dict[Any, str] = {bool: "booleans", int: "integers", float: "numbers", str: "texts"}


def describe_type(annotation: Any) -> str:
    """What a field of this type takes."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return f"a section with type: {_type_names(annotation)}"
    if origin in (Union, UnionType):
        return " or ".join(describe_type(choice) for choice in arguments if choice is not NoneType)
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


def _describe_list(item: Any) -> str:
    if get_origin(item) is Annotated:
        return f"a list of sections with type: {_type_names(item)}"
    if dataclasses.is_dataclass(item):
        return "a list of sections"
    return f"a list of {_PLURALS[item]}" if item in _PLURALS else "a list"


def _type_names(annotation: Any) -> str:
    kind: str = get_args(annotation)[1].kind
    return name_values(components(kind)) or kind
