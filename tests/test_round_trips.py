"""Sections of every class that a configuration may hold survive being written and read, whatever their values."""

import dataclasses
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mf_config import ComponentOf, RunConfig, key
from mf_config.outline import Part, parts

ROOT = Path(__file__).parent.parent


def load(path: Path) -> ModuleType:
    """A test module of a package: tests are no package, so it can't be imported by name."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


shared = load(ROOT / "packages/mf-config/tests/test_config_round_trip.py")
PARTS = {part.owner: part for part in parts() if part.path}


def name_of(part: Part) -> str:
    """What pytest calls the test of a section."""
    return f"{part.tag.kind}-{part.tag.names[0]}" if part.tag else part.owner.__name__


def holder(part: Part) -> type:
    """A file that holds one section."""
    held = Annotated[Any, ComponentOf(part.tag.kind, part.chooser)] if part.tag else part.owner

    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class Holder:
        held: Any = key("The section.")

    Holder.__annotations__["held"] = held
    return Holder


@pytest.mark.property
@pytest.mark.parametrize("part", PARTS.values(), ids=name_of)
def test_a_section_of_any_class_survives_being_written(part):
    cls = holder(part)

    @settings(shared.drawn, max_examples=10)
    @given(shared.sections(part.owner))
    def check(section):
        shared.check_round_trips(cls(held=section))

    check()


@pytest.mark.property
@settings(shared.drawn, max_examples=10)
@given(st.data())
def test_any_whole_configuration_survives_being_written(data):
    shared.check_round_trips(data.draw(shared.sections(RunConfig)))
