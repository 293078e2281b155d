"""From located nodes to frozen dataclasses, gathering every mistake instead of stopping at the first."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from mf_config import scalars
from mf_config.components import components
from mf_config.nodes import Mapping, Node, Scalar, Sequence
from mf_config.problems import Location, Problem, Severity, name_values
from mf_config.schema import REQUIRED, ComponentOf, Key, key_of, tag_of
from mf_config.suggest import nearest

_Section = TypeVar("_Section")

_PARSERS: dict[Any, Callable[[Scalar], scalars.Parsed]] = {
    bool: scalars.parse_bool,
    int: scalars.parse_int,
    float: scalars.parse_float,
    str: scalars.parse_text,
    Any: scalars.parse_untyped,
}

TYPE_KEY = "type"
"""The key by which a component's section says which component it configures."""

MISSING = object()
"""Result of a value that could not be read; its problem is already in the list."""


@dataclass(slots=True)
class Binding:
    """What binding a document has found so far.

    Attributes:
        problems: every mistake, warning and note.
        places: dotted key path to the place of its value, for the checks that come after binding.
        repeats: path of each section that only repeats another one, to the path of that other.
        device_target: the device whose inert keys are reported.
    """

    device_target: str = ""
    problems: list[Problem] = field(default_factory=list)
    places: dict[str, Location] = field(default_factory=dict)
    repeats: dict[str, str] = field(default_factory=dict)

    def error(self, location: Location, path: str, what: str, allowed: str = "", suggestion: str = "") -> object:
        """Record a mistake; returns `MISSING`, the value that can't be read."""
        self.problems.append(Problem(location, path, what, allowed, suggestion))
        return MISSING

    def remark(self, severity: Severity, location: Location, path: str, what: str) -> None:
        """Record a warning or a note."""
        self.problems.append(Problem(location, path, what, severity=severity))


@cache
def hints_of(cls: type) -> dict[str, Any]:
    """Field name to annotation of a section class, annotations resolved."""
    return get_type_hints(cls, include_extras=True)


def bind_section(cls: type[_Section], node: Node, path: str, binding: Binding) -> _Section | object:
    """Read a mapping into a section class.

    Args:
        cls: a dataclass whose fields are declared with `mf_config.schema.key`.
        node: what stands in the file.
        path: dotted path of the section, empty for the file itself.
        binding: gathers problems and places.
    Returns:
        The section, or `MISSING` where any of its keys has an error.
    """
    if not isinstance(node, Mapping):
        return binding.error(node.location, path, f"{_describe(node)} is not a section", "keys with values")
    values: dict[str, Any] = {}
    fields = {declared.name: declared for declared in dataclasses.fields(cls)}  # type: ignore[arg-type]
    is_component = tag_of(cls) is not None
    for name, child in node.entries.items():
        here, place = _join(path, name), node.key_locations[name]
        if name in fields:
            values[name] = _bind_field(hints_of(cls)[name], key_of(fields[name]), child, here, binding)
        elif not (is_component and name == TYPE_KEY):
            allowed = [*([TYPE_KEY] if is_component else []), *fields]
            binding.error(place, here, "unknown key", name_values(allowed), nearest(name, allowed))
    for name, declared in fields.items():
        if name not in values and declared.default is REQUIRED and declared.default_factory is REQUIRED:
            binding.error(node.location, _join(path, name), "is missing", _describe_type(hints_of(cls)[name]))
            values[name] = MISSING
    if any(value is MISSING for value in values.values()):
        return MISSING
    section = cls(**values)
    return MISSING if _has_conflicts(section, node, path, binding) else section


def _has_conflicts(section: Any, node: Mapping, path: str, binding: Binding) -> bool:
    """Ask a section that checks its own keys against each other (`problems()`) what it finds."""
    if not hasattr(section, "problems"):
        return False
    found = list(section.problems())
    for name, what, allowed in found:
        binding.error(node.key_locations.get(name, node.location), _join(path, name), what, allowed)
    return bool(found)


def bind_component(kind: str, node: Node, path: str, binding: Binding) -> object:
    """Read the section of a component that its `type:` names.

    Returns:
        The component's section, None with a warning where no installed package has components of this kind, or
        `MISSING` where it has an error.
    """
    if not isinstance(node, Mapping):
        return binding.error(node.location, path, f"{_describe(node)} is not a section", "keys with values")
    known = components(kind)
    if not known:
        what = f"is not checked: no installed package declares any {kind}"
        binding.remark(Severity.WARNING, node.location, path, what)
        return None
    chosen = node.entries.get(TYPE_KEY)
    if chosen is None:
        return binding.error(node.location, _join(path, TYPE_KEY), "is missing", name_values(known))
    if not isinstance(chosen, Scalar) or chosen.text not in known:
        found = f"no {kind} {_describe(chosen)}"
        suggestion = nearest(chosen.text, known) if isinstance(chosen, Scalar) else ""
        return binding.error(chosen.location, _join(path, TYPE_KEY), found, name_values(known), suggestion)
    return bind_section(known[chosen.text], node, path, binding)


def bind_value(annotation: Any, node: Node, path: str, binding: Binding) -> Any:
    """Read one value by the type of its field; `MISSING` where it can't be read."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return bind_component(arguments[1].kind, node, path, binding)
    if origin in (Union, UnionType):
        return _bind_union(arguments, node, path, binding)
    if origin is Literal:
        return _bind_literal(arguments, node, path, binding)
    if origin is tuple:
        return _bind_list(arguments[0], node, path, binding)
    if origin is dict:
        return _bind_dict(arguments[1], node, path, binding)
    if dataclasses.is_dataclass(annotation):
        assert isinstance(annotation, type)
        return bind_section(annotation, node, path, binding)
    if annotation is Any and not isinstance(node, Scalar):
        return _bind_any(node, path, binding)
    return _bind_scalar(annotation, node, path, binding)


def _bind_field(annotation: Any, declared: Key, node: Node, path: str, binding: Binding) -> Any:
    binding.places[path] = node.location
    reason = declared.inert or declared.inert_on.get(binding.device_target, "")
    if reason:
        binding.remark(Severity.NOTE, node.location, path, f"has no effect: {reason}")
    if declared.alias_suffix:
        return _bind_alias(declared, path, binding)
    value = bind_value(annotation, node, path, binding)
    return value if value is MISSING or value is None else _check_range(declared, value, node, path, binding)


def _bind_alias(declared: Key, path: str, binding: Binding) -> None:
    """Leave a repeated section unread, and remember which section counts instead."""
    binding.repeats[path] = path.removesuffix(declared.alias_suffix)


def _bind_scalar(annotation: Any, node: Node, path: str, binding: Binding) -> Any:
    if not isinstance(node, Scalar):
        return binding.error(node.location, path, f"{_describe(node)} is not a value", _describe_type(annotation))
    if annotation is not str and scalars.is_null(node):
        return binding.error(node.location, path, "has no value", _describe_type(annotation))
    try:
        parsed = _PARSERS[annotation](node)
    except scalars.ScalarError as error:
        return binding.error(node.location, path, error.what, error.allowed, error.suggestion)
    if parsed.guess:
        binding.remark(Severity.WARNING, node.location, path, parsed.guess)
    return parsed.value


def _bind_union(arguments: tuple[Any, ...], node: Node, path: str, binding: Binding) -> Any:
    """None where allowed and written; then the alternative that fits the node's shape."""
    if NoneType in arguments and isinstance(node, Scalar) and (scalars.is_null(node) or node.text == ""):
        return None
    choices = [choice for choice in arguments if choice is not NoneType]
    fitting = [choice for choice in choices if _fits(choice, node)] or choices
    for choice in fitting[:-1]:
        attempt = Binding(binding.device_target)
        value = bind_value(choice, node, path, attempt)
        if value is not MISSING:
            binding.problems += attempt.problems
            binding.places |= attempt.places
            binding.repeats |= attempt.repeats
            return value
    return bind_value(fitting[-1], node, path, binding)


def _fits(annotation: Any, node: Node) -> bool:
    origin = get_origin(annotation)
    if isinstance(node, Sequence):
        return origin is tuple
    is_section = origin in (dict, Annotated) or dataclasses.is_dataclass(annotation)
    return is_section == isinstance(node, Mapping) and origin is not tuple


def _bind_literal(allowed: tuple[Any, ...], node: Node, path: str, binding: Binding) -> Any:
    if isinstance(node, Scalar):
        for value in allowed:
            if node.text == str(value):
                return value
    texts = [str(value) for value in allowed]
    suggestion = nearest(node.text, texts) if isinstance(node, Scalar) else ""
    return binding.error(node.location, path, f"{_describe(node)} is not allowed", name_values(texts), suggestion)


def _bind_list(item_type: Any, node: Node, path: str, binding: Binding) -> Any:
    if not isinstance(node, Sequence):
        return binding.error(node.location, path, f"{_describe(node)} is not a list", "a list")
    values = [bind_value(item_type, item, f"{path}[{index}]", binding) for index, item in enumerate(node.items)]
    return MISSING if any(value is MISSING for value in values) else tuple(values)


def _bind_dict(value_type: Any, node: Node, path: str, binding: Binding) -> Any:
    if not isinstance(node, Mapping):
        return binding.error(node.location, path, f"{_describe(node)} is not a section", "keys with values")
    values = {name: bind_value(value_type, child, _join(path, name), binding) for name, child in node.entries.items()}
    return MISSING if any(value is MISSING for value in values.values()) else values


def _bind_any(node: Node, path: str, binding: Binding) -> Any:
    if isinstance(node, Sequence):
        return _bind_list(Any, node, path, binding)
    return _bind_dict(Any, node, path, binding)


def _check_range(declared: Key, value: Any, node: Node, path: str, binding: Binding) -> Any:
    if declared.allowed and value not in declared.allowed:
        texts = [str(choice) for choice in declared.allowed]
        suggestion = nearest(str(value), texts)
        return binding.error(node.location, path, f"{_describe(node)} is not allowed", name_values(texts), suggestion)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return value
    too_small = declared.minimum is not None and value < declared.minimum
    too_large = declared.maximum is not None and value > declared.maximum
    not_above = declared.above is not None and value <= declared.above
    if too_small or too_large or not_above or value != value:
        return binding.error(node.location, path, f"{_describe(node)} is out of range", describe_range(declared))
    return value


def describe_range(declared: Key) -> str:
    """The numbers that a key takes, in words: `from 1`, `above 0, up to 1`."""
    parts = [
        f"from {declared.minimum:g}" if declared.minimum is not None else "",
        f"above {declared.above:g}" if declared.above is not None else "",
        f"up to {declared.maximum:g}" if declared.maximum is not None else "",
    ]
    return ", ".join(part for part in parts if part)


def _describe(node: Node) -> str:
    if isinstance(node, Scalar):
        return scalars.show(node)
    return "a list" if isinstance(node, Sequence) else "a section"


def _describe_type(annotation: Any) -> str:
    """A type in the words of a message."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        component: ComponentOf = arguments[1]
        return f"a section with type: {name_values(components(component.kind)) or component.kind}"
    if origin in (Union, UnionType):
        return " or ".join(_describe_type(choice) for choice in arguments if choice is not NoneType)
    if origin is Literal:
        return name_values(arguments)
    if origin is tuple:
        return "a list"
    if origin is dict or dataclasses.is_dataclass(annotation):
        return "a section"
    return {bool: "True, False", int: "an integer", float: "a number", str: "text"}.get(annotation, "a value")


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
