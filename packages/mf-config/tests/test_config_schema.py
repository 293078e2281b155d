from dataclasses import dataclass

import pytest

from mf_config.schema import REQUIRED, ComponentTag, Key, component, declarations, key, key_of, tag_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    steps: int = key("How long.", 10, minimum=1)
    name: "str | None" = key("What it is called.")


def test_a_declaration_has_name_type_default_and_limits() -> None:
    found = declarations(Section)
    assert list(found) == ["steps", "name"]
    assert (found["steps"].annotation, found["steps"].default) == (int, 10)
    assert found["steps"].key == Key(doc="How long.", minimum=1)
    assert not found["steps"].required


def test_a_key_without_default_must_be_given_and_its_annotation_is_resolved() -> None:
    name = declarations(Section)["name"]
    assert name.required and name.default is REQUIRED
    assert name.annotation == str | None
    with pytest.raises(TypeError, match="name"):
        Section()


def test_every_field_is_declared_with_key() -> None:
    @dataclass(frozen=True)
    class Careless:
        steps: int = 3

    with pytest.raises(TypeError, match=r"^field 'steps' was not declared with mf_config\.key$"):
        declarations(Careless)


def test_an_unknown_detail_of_a_key_is_a_defect() -> None:
    with pytest.raises(TypeError, match="minimun"):
        key("How long.", 1, minimun=0)


def test_a_component_keeps_its_class_and_names() -> None:
    tagged = component("optimizer", "AdamW", "adamw")(Section)
    try:
        assert tagged is Section
        assert tag_of(Section) == ComponentTag("optimizer", ("AdamW", "adamw"))
    finally:
        del Section.__mf_component__  # type: ignore[attr-defined]
    assert tag_of(Section) is None


def test_a_subclass_of_a_component_is_not_one_itself() -> None:
    @component("optimizer", "AdamW")
    @dataclass(frozen=True)
    class Parent:
        steps: int = key("How long.", 1)

    class Child(Parent):
        pass

    assert tag_of(Child) is None


def test_a_component_is_a_dataclass() -> None:
    with pytest.raises(TypeError, match=r"^Plain must be a dataclass before it becomes a component$"):

        @component("optimizer", "Plain")
        class Plain:
            pass


def test_key_of_gives_what_key_declared() -> None:
    assert key_of(Section.__dataclass_fields__["steps"]).doc == "How long."
