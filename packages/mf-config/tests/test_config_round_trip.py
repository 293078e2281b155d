"""Whatever the schema allows survives being written and read: configurations are drawn from the declarations.

The tests at the root of the repository use the same strategies with the components of all packages.
"""

import dataclasses
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mf_config.bind import Binding, bind_section
from mf_config.components import components
from mf_config.dump import to_yaml
from mf_config.nodes import Document, Scalar
from mf_config.problems import Location, errors_in
from mf_config.resolved import resolve, to_commented_yaml
from mf_config.scalars import means_unset, parse_untyped
from mf_config.schema import Declaration, Key, declarations
from mf_config.sections.run import RunConfig
from mf_config.yaml_reader import read_text

MOST_CHANGES = 4
"""Keys of one section that differ from their defaults: with more, hardly any draw fits together."""

WORDS = st.sampled_from(
    ["None", "null", "~", "", "yes", "Off", "010", "1e-5", "1:30", "4_096", "3", ".inf", "a: b", "# c", "- d", "x\ny"]
)
PATHS = st.sampled_from(["./text", "a/tokenizer.json"])
TEXTS = WORDS | PATHS | st.text(st.characters(codec="utf-8"), max_size=12).filter(str.isprintable)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def sections(cls: type) -> st.SearchStrategy[Any]:
    """Sections of a class whose keys fit together: required keys, and a few others with values of their own."""
    declared = declarations(cls)
    required = [name for name, declaration in declared.items() if declaration.required]
    optional = [name for name in declared if name not in required]

    @st.composite
    def draw_section(draw: st.DrawFn) -> Any:
        chosen = draw(st.lists(st.sampled_from(optional), max_size=MOST_CHANGES, unique=True)) if optional else []
        return cls(**{name: draw(values_of(declared[name])) for name in [*required, *chosen]})

    return draw_section().filter(lambda section: not list(getattr(section, "problems", tuple)()))


def values_of(declared: Declaration) -> st.SearchStrategy[Any]:
    """Values that a key takes."""
    if declared.key.alias_suffix:
        return st.none()
    return values(declared.annotation, declared.key)


def values(annotation: Any, declared: Key) -> st.SearchStrategy[Any]:
    """Values of a type within the limits of a key."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        known = dict.fromkeys(components(arguments[1].kind).values())
        return st.sampled_from(list(known)).flatmap(sections) if known else st.none()
    if origin in (Union, UnionType):
        return st.one_of(*(alternatives(choice, arguments, declared) for choice in arguments))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(values(arguments[0], declared), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(TEXTS, values(arguments[1], Key(doc="")), max_size=3)
    if dataclasses.is_dataclass(annotation):
        return sections(annotation)
    return scalars(annotation, declared)


def alternatives(choice: Any, choices: tuple[Any, ...], declared: Key) -> st.SearchStrategy[Any]:
    """Values of one type of a union that no other type of it claims."""
    if choice is NoneType:
        return st.none()
    drawn = values(choice, declared)
    if choice is not str or declared.allowed:
        return drawn
    return drawn.filter(lambda text: not is_claimed(Scalar(text, False, Location("", 0)), NoneType in choices))


def is_claimed(scalar: Scalar, optional: bool) -> bool:
    """Whether a text reads as a number, a boolean or as unset."""
    return (optional and means_unset(scalar)) or not isinstance(parse_untyped(scalar).value, str)


def scalars(annotation: Any, declared: Key) -> st.SearchStrategy[Any]:
    """Plain values within the limits of a key."""
    if declared.allowed:
        return st.sampled_from(declared.allowed)
    lowest, highest, above = declared.minimum, declared.maximum, declared.above
    if annotation is int:
        low = lowest if above is None else above + 1
        return st.integers(None if low is None else int(low), 10**12 if highest is None else int(highest))
    if annotation is float:
        low = lowest if above is None else above
        return st.floats(low, highest, exclude_min=above is not None, allow_nan=False)
    return {bool: st.booleans(), str: TEXTS}.get(annotation, ANYTHING)


def check_round_trips(section: Any) -> None:
    """Both ways to write a section that stands for a whole file give it back."""
    document = read_document(to_yaml(section))
    check_same(section, document)
    check_same(section, read_document(to_commented_yaml(resolve(section, document))))


def read_document(text: str) -> Document:
    return Document("run.yaml", read_text(text, "run.yaml").root, ("run.yaml",))


def check_same(section: Any, document: Document) -> None:
    """A document is bound to an equal section; rules over several sections are left out."""
    binding = Binding()
    again = bind_section(type(section), document.root, "", binding)
    errors = errors_in(binding.problems)
    # With messages of their own: pytest explains no assertion of a module that another test loads.
    assert not errors, "\n".join(map(str, errors))
    fields = [field.name for field in dataclasses.fields(section)]
    changed = [name for name in fields if getattr(again, name) != getattr(section, name)]
    assert not changed, f"changed: {changed}"


drawn = settings(
    max_examples=30,
    deadline=None,
    # A whole configuration shrinks for minutes, and the assertions name the keys already.
    phases=(Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.mark.property
@drawn
@given(data=st.data())
def test_any_configuration_survives_being_written(toys: None, data: st.DataObject) -> None:
    check_round_trips(data.draw(sections(RunConfig)))
