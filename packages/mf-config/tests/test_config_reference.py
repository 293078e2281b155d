import re
from dataclasses import dataclass

import pytest

from mf_config.outline import Part, outline
from mf_config.reference import reference_page
from mf_config.rules import RULES
from mf_config.schema import component, key


def chapter(title: str) -> str:
    """The text below a heading, up to the next of its level."""
    return reference_page().partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_every_chapter_is_in_the_contents(toys: None) -> None:
    page = reference_page()
    headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert re.findall(r"^\* \[(.*)\]\(#.*\)$", page, re.MULTILINE) == headings
    assert headings[0] == "Top level"
    assert "* [`train_dataset.data_loader`](#train_datasetdata_loader)\n" in page


def test_every_key_has_a_row(toys: None) -> None:
    page = reference_page()
    assert [entry.path for entry in outline() if f"| `{entry.name}` |" not in page] == []


def test_a_section_at_two_places_has_one_table(toys: None) -> None:
    assert reference_page().count("| `drop_remainder` |") == 1
    assert chapter("`train_dataset`").startswith("\nStands at `train_dataset`, `eval_dataset`.\n")


def test_a_component_says_what_it_is_for(toys: None) -> None:
    text = chapter("`optimizer`")
    assert text.startswith(
        "\n### type: ToyAdam or toy_adam\n\nAdam.\n\n"
        "| key | type | default | allowed | meaning |\n|---|---|---|---|---|\n"
        "| `learning_rate` | a number | not set | above 0 | Constant rate. |\n"
        "| `betas` | a list of numbers | [0.9, 0.999] | from 0, up to 1 | Decays. |\n"
    )
    assert "It has no keys." in chapter("`metric`")


def test_facts_beside_the_purpose_stand_with_the_meaning(toys: None) -> None:
    text = chapter("`optimizer`")
    assert "| from 0 | Momentum. Has no effect on CPU: the toy has none. |" in text


def test_every_rule_has_a_row(toys: None) -> None:
    rows = chapter("Rules").splitlines()
    assert [row.split("`")[1] for row in rows if row.startswith("| `")] == [rule.id for rule in RULES]


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    first: int = key("First.", 1)
    second: int = key("Second.", 2)
    third: int = key("Third.", 3)


@component("twin", "One")
@dataclass(frozen=True, slots=True, kw_only=True)
class One(Keys):
    """The first."""


@component("twin", "Same", inert="it does nothing")
@dataclass(frozen=True, slots=True, kw_only=True)
class Same(Keys):
    """The same."""


@component("twin", "Other", pending="it is not built")
@dataclass(frozen=True, slots=True, kw_only=True)
class Other(Keys):
    """The other."""

    third: int = key("Third.", 4)


@component("twin", "Stranger")
@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """Unlike all."""

    alone: int = key("Alone.", 1)


def test_a_table_like_another_is_told_as_the_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    classes = (One, Same, Other, Stranger)
    monkeypatch.setattr("mf_config.reference.parts", lambda: [Part("twins[]", cls) for cls in classes])
    head = "| key | type | default | allowed | meaning |\n|---|---|---|---|---|\n"
    assert chapter("`twins[]`") == (
        f"\n### type: One\n\nThe first.\n\n{head}"
        "| `first` | an integer | 1 |  | First. |\n"
        "| `second` | an integer | 2 |  | Second. |\n"
        "| `third` | an integer | 3 |  | Third. |\n"
        "\n### type: Same\n\nThe same.\n\nHas no effect: it does nothing.\n\nAs One.\n"
        f"\n### type: Other\n\nThe other.\n\nCan't be run yet: it is not built.\n\nAs One, and:\n\n{head}"
        "| `third` | an integer | 4 |  | Third. |\n"
        f"\n### type: Stranger\n\nUnlike all.\n\n{head}"
        "| `alone` | an integer | 1 |  | Alone. |\n"
    )
