"""From located nodes to frozen dataclasses, gathering every mistake instead of stopping at the first."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from mf_config import scalars
from mf_config.components import components
from mf_config.describe import describe_range, describe_type
from mf_config.nodes import Mapping, Node, Scalar, Sequence, describe_node, join_path
from mf_config.problems import Location, Problem, Severity, errors_in, name_values
from mf_config.schema import TYPE_KEY, ComponentOf, ComponentTag, Declaration, Key, declarations, tag_of
from mf_config.suggest import nearest

_PARSERS: dict[Any, Callable[[Scalar], scalars.Parsed]] = {
    bool: scalars.parse_bool,
    int: scalars.parse_int,
    float: scalars.parse_float,
    str: scalars.parse_text,
    Any: scalars.parse_untyped,
}

_SECTION = "keys with values"

MISSING = object()
"""Result of a value that could not be read; its problem is already in the list."""


def _nowhere(name: str, path: str) -> str:
    return ""


@dataclass(slots=True)
class Written:
    """A key, or the section of a component in a list, that stands in the file.

    Attributes:
        location: where its value stands.
        key: its declaration, None for an element of a list.
        default: the value that it would have without the file.
        value: what was read, `MISSING` where it can't be.
        text: the value as the file has it, for messages.
        component: what the section configures, None where it is not a component's.
    """

    location: Location
    key: Key | None = None
    default: Any = None
    value: Any = MISSING
    text: str = ""
    component: ComponentTag | None = None


@dataclass(slots=True)
class Binding:
    """What binding a document has found so far.

    Attributes:
        elsewhere: for the name of an unknown key and the path of its section, the dotted path of the key that was
            probably meant, or an empty string.
        problems: every mistake and every guess.
        written: dotted path to what stands there, sections before their keys, for the checks that come after binding.
        repeats: path of each section that only repeats another one, to the path of that other.
        unchecked: paths of the sections whose components no installed package declares.
    """

    elsewhere: Callable[[str, str], str] = _nowhere
    problems: list[Problem] = field(default_factory=list)
    written: dict[str, Written] = field(default_factory=dict)
    repeats: dict[str, str] = field(default_factory=dict)
    unchecked: set[str] = field(default_factory=set)

    @property
    def places(self) -> dict[str, Location]:
        """Dotted path to the place of its value."""
        return {path: written.location for path, written in self.written.items()}

    def adopt(self, attempt: "Binding") -> None:
        """Take over what a successful attempt has found."""
        self.problems += attempt.problems
        self.written |= attempt.written
        self.repeats |= attempt.repeats
        self.unchecked |= attempt.unchecked

    def error(self, location: Location, path: str, what: str, allowed: str = "", suggestion: str = "") -> object:
        """Record a mistake; returns `MISSING`, the value that can't be read."""
        self.problems.append(Problem(location, path, what, allowed, suggestion))
        return MISSING

    def remark(self, severity: Severity, location: Location, path: str, what: str) -> None:
        """Record a warning or a note."""
        self.problems.append(Problem(location, path, what, severity=severity))


def bind_section(cls: type, node: Node, path: str, binding: Binding, chooser: str = TYPE_KEY) -> Any:
    """Read a mapping into a section class.

    Args:
        cls: a dataclass whose fields are declared with `mf_config.schema.key`.
        node: what stands in the file.
        path: dotted path of the section, empty for the file itself.
        binding: gathers problems and places.
        chooser: the key that chose the class where it is a component's.
    Returns:
        The section. A key that can't be read has its default in it, so that the checks after binding still see the
        rest; whether there are mistakes is in the binding. `MISSING` where a required key can't be read.
    """
    if isinstance(node, Scalar) and scalars.is_null(node):
        node = Mapping({}, {}, node.location)
    if not isinstance(node, Mapping):
        return binding.error(node.location, path, f"{describe_node(node)} is not a section", _SECTION)
    values: dict[str, Any] = {}
    declared = declarations(cls)
    tag = tag_of(cls)
    implied = [chooser] if tag else []
    if tag and chooser in node.entries:
        _check_choice(tag, node.entries[chooser], join_path(path, chooser), binding)
    for name, child in node.entries.items():
        here = join_path(path, name)
        if name in declared:
            values[name] = _bind_field(declared[name], child, here, binding)
        elif name not in implied:
            known = [*implied, *declared]
            suggestion = nearest(name, known) or binding.elsewhere(name, path)
            binding.error(node.key_locations[name], here, "unknown key", name_values(known), suggestion)
            if suggestion in declared and suggestion not in node.entries:
                # A misspelt key is one mistake: what was meant is not missing, and the section below it is checked.
                meant = not isinstance(child, Scalar)
                values[suggestion] = _bind_field(declared[suggestion], child, here, binding) if meant else MISSING
    for name, declaration in declared.items():
        if declaration.required and name not in values:
            allowed = describe_type(declaration.annotation)
            values[name] = binding.error(node.location, join_path(path, name), "is missing", allowed)
    readable = {name: value for name, value in values.items() if value is not MISSING}
    if any(declared[name].required for name in values.keys() - readable.keys()):
        return MISSING
    section = cls(**_implied(cls, readable), **readable)
    if len(readable) == len(values):
        _find_conflicts(section, node, path, binding)
    return section


def _implied(cls: type, written: dict[str, Any]) -> dict[str, Any]:
    """What a section that derives keys from others (`implied(written)`) has where nothing is written."""
    values = cls.implied(written) if hasattr(cls, "implied") else {}
    return {name: value for name, value in values.items() if name not in written}


def _check_choice(tag: ComponentTag, node: Node, path: str, binding: Binding) -> None:
    """Make sure that a section of one component alone is not meant for another one."""
    if not isinstance(node, Scalar) or node.text not in tag.names:
        _not_allowed(tag.names, node, path, binding)


def _find_conflicts(section: Any, node: Mapping, path: str, binding: Binding) -> None:
    """Ask a section that checks its own keys against each other (`problems()`) what it finds."""
    for name, what, allowed in section.problems() if hasattr(section, "problems") else ():
        binding.error(node.key_locations.get(name, node.location), join_path(path, name), what, allowed)


def bind_component(asked: ComponentOf, node: Node, path: str, binding: Binding) -> Any:
    """Read the section of a component that its `type:` names.

    Args:
        asked: the kind of component, and the key that chooses one.
        node: what stands in the file.
        path: dotted path of the section.
        binding: gathers problems and places.
    Returns:
        The component's section, as `bind_section` gives it; None with a warning where no installed package has
        components of this kind; `MISSING` where none is chosen.
    """
    if not isinstance(node, Mapping):
        return binding.error(node.location, path, f"{describe_node(node)} is not a section", _SECTION)
    known = components(asked.kind)
    if not known:
        what = f"is not checked: no installed package declares any {asked.kind}"
        binding.remark(Severity.WARNING, node.location, path, what)
        binding.unchecked.add(path)
        return None
    here = join_path(path, asked.chooser)
    chosen = node.entries.get(asked.chooser)
    if chosen is None and asked.otherwise in known:
        chosen = Scalar(asked.otherwise, False, node.location)
    if chosen is None:
        return binding.error(node.location, here, "is missing", name_values(known))
    if not isinstance(chosen, Scalar) or chosen.text not in known:
        suggestion = nearest(chosen.text, known) if isinstance(chosen, Scalar) else ""
        what = f"no {asked.kind} is named {describe_node(chosen)}"
        return binding.error(chosen.location, here, what, name_values(known), suggestion)
    entry = binding.written.setdefault(path, Written(node.location))
    entry.component, entry.text = tag_of(known[chosen.text]), chosen.text
    return bind_section(known[chosen.text], node, path, binding, asked.chooser)


def bind_value(annotation: Any, node: Node, path: str, binding: Binding) -> Any:
    """Read one value by the type of its field; `MISSING` where it can't be read."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return bind_component(arguments[1], node, path, binding)
    if origin in (Union, UnionType):
        return _bind_union(arguments, node, path, binding)
    if origin is Literal:
        return _bind_literal(arguments, node, path, binding)
    if origin is tuple or (annotation is Any and isinstance(node, Sequence)):
        return _bind_list(arguments[0] if arguments else Any, node, path, binding)
    if origin is dict or (annotation is Any and isinstance(node, Mapping)):
        return _bind_dict(arguments[1] if arguments else Any, node, path, binding)
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return bind_section(annotation, node, path, binding)
    return _bind_scalar(annotation, node, path, binding)


def _bind_field(declared: Declaration, node: Node, path: str, binding: Binding) -> Any:
    entry = Written(node.location, declared.key, declared.default, text=describe_node(node))
    binding.written[path] = entry
    if declared.key.alias_suffix:
        # The body of a repeated section is not read: remember which section counts instead.
        binding.repeats[path] = path.removesuffix(declared.key.alias_suffix)
        return None
    value = bind_value(declared.annotation, node, path, binding)
    entry.value = value if value is MISSING else _check_limits(declared.key, value, node, path, binding)
    return entry.value


def _bind_scalar(annotation: Any, node: Node, path: str, binding: Binding) -> Any:
    if not isinstance(node, Scalar):
        return binding.error(node.location, path, f"{describe_node(node)} is not a value", describe_type(annotation))
    if annotation is not Any and scalars.is_null(node):
        return binding.error(node.location, path, "has no value", describe_type(annotation))
    try:
        parsed = _PARSERS[annotation](node)
    except scalars.ScalarError as error:
        return binding.error(node.location, path, error.what, error.allowed, error.suggestion)
    if parsed.guess:
        binding.remark(Severity.WARNING, node.location, path, parsed.guess)
    return parsed.value


def _bind_union(arguments: tuple[Any, ...], node: Node, path: str, binding: Binding) -> Any:
    """None where allowed and written; then the first alternative of the node's shape that can be read."""
    if NoneType in arguments and isinstance(node, Scalar) and scalars.means_unset(node):
        return None
    choices = [choice for choice in arguments if choice is not NoneType]
    fitting = [choice for choice in choices if _fits(choice, node)] or choices
    for choice in fitting[:-1]:
        attempt = Binding(binding.elsewhere)
        value = bind_value(choice, node, path, attempt)
        if not errors_in(attempt.problems):
            binding.adopt(attempt)
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
    return _not_allowed(allowed, node, path, binding)


def _bind_list(item_type: Any, node: Node, path: str, binding: Binding) -> Any:
    if not isinstance(node, Sequence):
        return binding.error(node.location, path, f"{describe_node(node)} is not a list", "a list")
    values = [bind_value(item_type, item, f"{path}[{index}]", binding) for index, item in enumerate(node.items)]
    return MISSING if any(value is MISSING for value in values) else tuple(values)


def _bind_dict(value_type: Any, node: Node, path: str, binding: Binding) -> Any:
    if not isinstance(node, Mapping):
        return binding.error(node.location, path, f"{describe_node(node)} is not a section", _SECTION)
    values = {
        name: bind_value(value_type, child, join_path(path, name), binding) for name, child in node.entries.items()
    }
    return MISSING if any(value is MISSING for value in values.values()) else values


def _check_limits(declared: Key, value: Any, node: Node, path: str, binding: Binding) -> Any:
    """The value where the key allows it; in a list, every number is checked on its own."""
    if isinstance(value, tuple) and isinstance(node, Sequence):
        checked = [
            _check_limits(declared, item, item_node, f"{path}[{index}]", binding)
            for index, (item, item_node) in enumerate(zip(value, node.items, strict=True))
        ]
        return MISSING if any(item is MISSING for item in checked) else value
    if declared.allowed and value is not None and value not in declared.allowed:
        return _not_allowed(declared.allowed, node, path, binding)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return value
    too_small = declared.minimum is not None and value < declared.minimum
    too_large = declared.maximum is not None and value > declared.maximum
    not_above = declared.above is not None and value <= declared.above
    if too_small or too_large or not_above:
        return binding.error(node.location, path, f"{describe_node(node)} is out of range", describe_range(declared))
    return value


def _not_allowed(allowed: tuple[Any, ...], node: Node, path: str, binding: Binding) -> object:
    texts = [str(value) for value in allowed]
    suggestion = nearest(node.text, texts) if isinstance(node, Scalar) else ""
    return binding.error(node.location, path, f"{describe_node(node)} is not allowed", name_values(texts), suggestion)
