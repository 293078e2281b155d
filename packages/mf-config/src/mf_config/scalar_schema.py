"""JSON Schemas of plain values: what an editor's YAML reader makes of the spellings that `mf_config.scalars` reads.

Such a reader has its own idea of types: it may hand over `1e-5` as text and `yes` as a boolean. Patterns apply to texts
alone, and bounds to numbers alone, so that one schema holds both spellings of a number.
"""

import re
from collections.abc import Iterable, Sequence
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from mf_config.nodes import Scalar
from mf_config.problems import Location
from mf_config.scalars import parse_untyped
from mf_config.schema import Key

_SIGNED, _UNSIGNED = "[+-]?", r"\+?"
_TRUE_OR_FALSE = "|".join(
    "".join(f"[{letter.upper()}{letter}]" for letter in word) for word in ("true", "false", "yes", "no", "on", "off")
)
_INTEGER = r"(0|[1-9][0-9]*(_[0-9]+)*)(\.0*)?([eE]\+?[0-9]+)?"
_NUMBER = r"(([0-9]+(_[0-9]+)*\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|\.?[iI][nN][fF])"
_UNSET = "|~|null|Null|NULL|None"

_TYPES = {bool: "boolean", int: "integer", float: "number", NoneType: "null"}


def scalar_schema(choices: Sequence[Any], declared: Key) -> dict[str, Any]:
    """The schema of a value that is a scalar of any of some types.

    Args:
        choices: `bool`, `int`, `float`, `str`, `NoneType` or a `Literal`.
        declared: the key, for its limits.
    """
    optional = NoneType in choices
    if declared.allowed:
        return _listed(declared.allowed, optional)
    literals = [choice for choice in choices if get_origin(choice) is Literal]
    if not literals:
        return _typed(choices, declared)
    listed = _listed([value for choice in literals for value in get_args(choice)], optional)
    others = [choice for choice in choices if choice not in literals and choice is not NoneType]
    return {"anyOf": [listed, _typed(others, declared)]} if others else listed


def _typed(choices: Sequence[Any], declared: Key) -> dict[str, Any]:
    """Any value of some types within the limits of a key."""
    limits = {"minimum": declared.minimum, "maximum": declared.maximum, "exclusiveMinimum": declared.above}
    bounds = {name: limit for name, limit in limits.items() if limit is not None and {int, float} & {*choices}}
    if str in choices:
        # Any scalar is a text; that it may be left out needs no word of its own.
        return {"type": ["string", "number", "boolean", *(["null"] if NoneType in choices else [])], **bounds}
    types = [_TYPES[choice] for choice in choices]
    return {"type": [*types, "string"], "pattern": _whole(_patterns(choices, declared)), **bounds}


def _patterns(choices: Iterable[Any], declared: Key) -> list[str]:
    """Patterns of the texts that are read as one of the types."""
    lowest = declared.minimum if declared.above is None else declared.above
    sign = _UNSIGNED if lowest is not None and lowest >= 0 else _SIGNED
    patterns = {bool: _TRUE_OR_FALSE, int: sign + _INTEGER, float: sign + _NUMBER, NoneType: _UNSET}
    return [patterns[choice] for choice in choices]


def _listed(values: Sequence[Any], optional: bool) -> dict[str, Any]:
    """Some values, and the spellings of those that are no texts."""
    enumerated: list[Any] = []
    for value in [*values, *(_as_yaml(value) for value in values), *([None] if optional else [])]:
        # 1 and True are equal to Python, and two values to JSON.
        if not any(value == known and type(value) is type(known) for known in enumerated):
            enumerated.append(value)
    texts = [re.escape(str(value)) for value in values if not isinstance(value, str)]
    texts += [_UNSET] if optional else []
    schema = {"enum": enumerated}
    return {"anyOf": [schema, {"type": "string", "pattern": _whole(texts)}]} if texts else schema


def _as_yaml(value: Any) -> Any:
    """What YAML makes of an allowed text that is written without quotation marks: `off` is a boolean there."""
    return parse_untyped(Scalar(value, False, Location("", 0))).value if isinstance(value, str) and value else value


def _whole(patterns: Iterable[str]) -> str:
    return f"^({'|'.join(patterns)})$"
