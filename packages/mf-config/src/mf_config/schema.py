"""How a section of the run configuration is declared: frozen dataclasses whose fields are made by `key`.

One declaration is the source of decoding, validation, `explain`, the JSON Schema and the reference page. A section
that users choose by `type:` (an optimizer, a callback, a model family) is a component: the same kind of dataclass,
decorated with `component`, in the module of the thing that it configures.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar, get_type_hints

REQUIRED: Any = dataclasses.MISSING
"""Default of a key that the file must give."""

TRAIN_MODES = ("train", "finetune")
EVAL_MODES = ("eval",)
PREDICT_MODES = ("predict",)
ALL_MODES = TRAIN_MODES + EVAL_MODES + PREDICT_MODES

TYPE_KEY = "type"
"""The key by which a component's section says which component it configures."""

_KEY = "mf_config.key"
_COMPONENT = "__mf_component__"
_Class = TypeVar("_Class", bound=type)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What is known of one key beside its name, type and default.

    Attributes:
        doc: what the key does, in one or two sentences, with units.
        allowed: the only values it takes; empty for any value of its type.
        minimum: smallest number that is allowed; in a list, for each of its numbers.
        maximum: largest number that is allowed.
        above: a number that the value must exceed.
        modes: the run modes that read it; empty means those of its section.
        unit: what a number counts, for example `steps` or `GB`.
        mindspore: the setting of MindSpore that the key sets, for example `set_context(max_call_depth)`.
        needs: the switch, off by default, that must be on for the key to count: a dotted path, or the plain name of a
            key of the same section, for example `profile`.
        needs_in: the run modes that ask for the switch; all where empty.
        inert: why the key has no effect anywhere; empty where it has one.
        inert_on: device target to the reason why the key has no effect there.
        pending: what this version can't do yet, so that a value outside `runs` is valid but blocks the run. Empty
            where every value can be run.
        runs: the values that a pending key runs with; the default alone where empty.
        deprecated: since when, and what to write instead; empty where the key is current.
        alias_suffix: for a key that repeats another section by an alias (`*anchor`): what to take off its path to
            get that section's path. Its body is not read again.
    """

    doc: str
    allowed: tuple[Any, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    modes: tuple[str, ...] = ()
    unit: str = ""
    mindspore: str = ""
    needs: str = ""
    needs_in: tuple[str, ...] = ()
    inert: str = ""
    inert_on: Mapping[str, str] = field(default_factory=dict)
    pending: str = ""
    runs: tuple[Any, ...] = ()
    deprecated: str = ""
    alias_suffix: str = ""


@dataclass(frozen=True, slots=True)
class ComponentOf:
    """Annotation of a field whose section is chosen by `type:` among the components of `kind`.

    Write `optimizer: Annotated[Any, ComponentOf("optimizer")]`.

    Attributes:
        kind: what is chosen.
        chooser: the key that says which one, where it is not `type` (`pet_type`).
        otherwise: the component of a section that names none; empty where it must name one.
    """

    kind: str
    chooser: str = TYPE_KEY
    otherwise: str = ""


@dataclass(frozen=True, slots=True)
class ComponentTag:
    """Kind and accepted `type:` names of a component; the first name is the canonical one.

    Attributes:
        kind: what is chosen.
        names: the accepted names.
        pending: why this version can check a section of this component but not run it; empty where it can.
        inert: why the component has no effect; empty where it has one.
    """

    kind: str
    names: tuple[str, ...]
    pending: str = ""
    inert: str = ""


def key(doc: str, default: Any = REQUIRED, **details: Any) -> Any:
    """Declare one key of a section: the right side of a dataclass field.

    Args:
        doc: what the key does.
        default: its value where the file has none; leave it out for a key that must be given.
        **details: further attributes of `Key`.
    Returns:
        A dataclass field that carries the `Key`.
    """
    return field(default=default, metadata={_KEY: Key(doc=doc, **details)})


def key_of(declared: "dataclasses.Field[Any]") -> Key:
    """The `Key` of a dataclass field.

    Raises:
        TypeError: the field was not declared with `key`.
    """
    if _KEY not in declared.metadata:
        raise TypeError(f"field {declared.name!r} was not declared with mf_config.key")
    found: Key = declared.metadata[_KEY]
    return found


@dataclass(frozen=True, slots=True)
class Declaration:
    """One key of a section class: its name, its resolved annotation, its `Key` and its default."""

    name: str
    annotation: Any
    key: Key
    default: Any

    @property
    def required(self) -> bool:
        """Whether the file must give it."""
        return self.default is REQUIRED


@cache
def declarations(cls: type) -> Mapping[str, Declaration]:
    """The keys of a section class by name, in the order of its fields.

    Raises:
        TypeError: a field was not declared with `key`.
    """
    assert dataclasses.is_dataclass(cls), f"{cls.__name__} must be a dataclass"
    hints = get_type_hints(cls, include_extras=True)
    return MappingProxyType(
        {
            declared.name: Declaration(declared.name, hints[declared.name], key_of(declared), declared.default)
            for declared in dataclasses.fields(cls)
        }
    )


def component(kind: str, *names: str, pending: str = "", inert: str = "") -> Callable[[_Class], _Class]:
    """Make a frozen dataclass the section of a component.

    Args:
        kind: what is chosen, for example `optimizer`.
        *names: accepted values of `type:`; the first is canonical, the others are spellings found in real files.
        pending: why a section is checked but can't be run by this version; it then blocks the runs that would use it.
        inert: why a section has no effect; it is checked, and reported as such.
    Returns:
        A class decorator that leaves the class as it is but for its tag.
    """

    def tag(cls: _Class) -> _Class:
        if not dataclasses.is_dataclass(cls):
            raise TypeError(f"{cls.__name__} must be a dataclass before it becomes a component")
        setattr(cls, _COMPONENT, ComponentTag(kind, names, pending, inert))
        return cls

    return tag


def tag_of(cls: type) -> ComponentTag | None:
    """Kind and names of a component class, None for any other class (a subclass of a component is not one itself)."""
    found: ComponentTag | None = vars(cls).get(_COMPONENT)
    return found
