"""On generated documents: nothing but the named keys changes, and a second migration has nothing to do."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mf_config.migration.migrate import migrate_text
from mf_config.migration.rule import Move, Remove, Rename, Rule

RULES: tuple[Rule, ...] = (
    Move("src.move1", "dst.here", why="w"),
    Move("src.move2", "dst.deep.there", why="w"),
    Move("src.up", "up", why="w"),
    Remove("src.dead", why="w"),
    Rename("**.old", "new", why="w"),
)
KEYS = ("old", "move1", "move2", "up", "dead", "keep", "other")
SCALARS = ("1", "'a: b # c'", '"é漢"', "x y", "[1, {k: 2}]", "{old: 1}", "", "~", "1e-5", "True")


@st.composite
def sections(draw: st.DrawFn, depth: int = 1) -> dict[str, Any]:
    keys = draw(st.lists(st.sampled_from(KEYS), unique=True, min_size=1, max_size=4))
    values = st.sampled_from(SCALARS) if not depth else st.one_of(st.sampled_from(SCALARS), sections(depth - 1))
    return {key: draw(values) for key in keys}


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A document in block style with random values, depths, comments and blank lines."""
    names = draw(st.permutations(["src", "dst", "old", "rest"]))
    lines: list[str] = []

    def write(section: dict[str, Any], indent: int) -> None:
        step = draw(st.sampled_from([1, 2, 4]))
        for key, value in section.items():
            for above in draw(st.lists(st.sampled_from(["", f"# about {key} é", "#"]), max_size=2)):
                lines.append(" " * indent + above if above else "")
            tail = draw(st.sampled_from(["", "  # tail"]))
            if isinstance(value, dict):
                lines.append(f"{' ' * indent}{key}:{tail}")
                write(value, indent + step)
            else:
                lines.append(f"{' ' * indent}{key}: {value}{tail}")

    write({name: draw(sections()) for name in names[: draw(st.integers(1, 4))]}, 0)
    return draw(st.sampled_from(["\n", "\r\n"])).join([*lines, ""])


def renamed(value: Any) -> Any:
    """The same without `old`; the caller made sure that no section has both names."""
    if isinstance(value, list):
        return [renamed(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {"new" if key == "old" else key: renamed(inner) for key, inner in value.items()}


def expected(data: dict[str, Any], refused: set[str]) -> dict[str, Any]:
    """What the rules mean, written once more for plain data."""
    src = data.get("src")
    if isinstance(src, dict):
        targets = {"move1": ("dst", "here"), "move2": ("dst", "deep", "there"), "up": ("up",), "dead": ()}
        for key, target in targets.items():
            if key not in src or f"src.{key}" in refused:
                continue
            value = src.pop(key)
            here = data
            for part in target[:-1]:
                here[part] = here.get(part) or {}
                here = here[part]
            if target:
                here[target[-1]] = value
        if not src:
            del data["src"]
    return renamed(data)


@pytest.mark.property
@settings(max_examples=30, deadline=None)
@given(documents())
def test_the_values_are_those_of_the_rules(text: str) -> None:
    result = migrate_text(text, "f", RULES)
    refused = {note.path for note in result.refused}
    assert (yaml.safe_load(result.text) or {}) == expected(yaml.safe_load(text), refused)


@pytest.mark.property
@settings(max_examples=30, deadline=None)
@given(documents())
def test_a_second_migration_changes_nothing(text: str) -> None:
    once = migrate_text(text, "f", RULES)
    twice = migrate_text(once.text, "f", RULES)
    assert (twice.text, twice.changes) == (once.text, ())


@pytest.mark.property
@settings(max_examples=30, deadline=None)
@given(documents())
def test_comment_lines_all_stay(text: str) -> None:
    result = migrate_text(text, "f", [rule for rule in RULES if not isinstance(rule, Remove)])
    before = sorted(line.strip() for line in text.splitlines() if line.strip().startswith("#"))
    after = sorted(line.strip() for line in result.text.splitlines() if line.strip().startswith("#"))
    added = after.count("# tail")  # of a section's own line that went
    assert sorted([*before, *["# tail"] * added]) == after


@pytest.mark.property
@settings(max_examples=30, deadline=None)
@given(documents())
def test_without_a_matching_rule_every_character_stays(text: str) -> None:
    assert migrate_text(text, "f", [Rename("nowhere.old", "new", why="w")]).text == text
