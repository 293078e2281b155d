from dataclasses import dataclass

import pytest

from mf_config.explain import as_json, explain, find
from mf_config.outline import Part
from mf_config.problems import UserError
from mf_config.rules import RULES
from mf_config.schema import component, key


def test_a_key_by_its_path(toys: None) -> None:
    assert explain("optimizer.momentum") == (
        "optimizer.momentum  (type: ToySgd)\n"
        "  Momentum.\n"
        "  type: a number\n"
        "  default: 0.0\n"
        "  allowed: from 0\n"
        "  read in run modes: train, finetune\n"
        "  has no effect on CPU: the toy has none"
    )


def test_a_key_that_must_be_given(toys: None) -> None:
    assert explain("train_dataset.data_loader.dataset_dir") == (
        "train_dataset.data_loader.dataset_dir  (type: ToyLoader)\n"
        "  The folder.\n"
        "  type: text\n"
        "  must be given\n"
        "  read in run modes: train, finetune"
    )


def test_defaults_in_words(toys: None) -> None:
    assert "  default: not set\n" in explain("load_checkpoint")
    assert "  default: a section of defaults\n" in explain("context")
    assert "  default: 'plain'\n  allowed: plain, gated\n" in explain("model.model_config.kind")


def test_a_key_without_effect_says_why(toys: None) -> None:
    assert "  has no effect: " in explain("train_dataset.numa_enable")


def test_a_last_part_finds_every_section(toys: None) -> None:
    assert [entry.path for entry in find("learning_rate")] == ["optimizer.learning_rate", "optimizer.learning_rate"]


def test_what_is_the_same_at_several_places_is_told_once(toys: None) -> None:
    assert explain("learning_rate") == (
        "optimizer.learning_rate  (type: ToyAdam, toy_adam)\n"
        "optimizer.learning_rate  (type: ToySgd)\n"
        "  Constant rate.\n"
        "  type: a number\n"
        "  default: not set\n"
        "  allowed: above 0\n"
        "  read in run modes: train, finetune"
    )


@pytest.mark.parametrize("name", ["callbacks[].every", "callbacks.every", "callbacks[0].every", "callbacks.0.every"])
def test_list_marks_may_be_left_out(toys: None, name: str) -> None:
    assert [entry.path for entry in find(name)] == ["callbacks[].every"]


def test_an_unknown_name_lists_what_is_near(toys: None) -> None:
    with pytest.raises(
        UserError, match=r"^runer_config\.epoch: no key, type or rule has this name\. Did you mean "
    ) as info:
        explain("runer_config.epoch")
    near = str(info.value).partition("Did you mean ")[2].removesuffix("?").split(", ")
    assert near[0] == "runner_config.epochs"
    assert 1 < len(near) <= 5
    with pytest.raises(UserError, match=r"^xyzzyplugh: no key, type or rule has this name\.$"):
        explain("xyzzyplugh")


def test_a_component_by_any_of_its_types(toys: None) -> None:
    assert explain("toy_adam") == (
        "optimizer  (type: ToyAdam, toy_adam)\n"
        "  Adam.\n"
        "  keys:\n"
        "    learning_rate: Constant rate. (default: not set)\n"
        "    betas: Decays. (default: [0.9, 0.999])"
    )
    assert explain("ToyMetric").endswith("  Counts.\n  no keys")


def test_the_key_that_chooses_is_explained_by_its_section(toys: None) -> None:
    assert explain("optimizer.type") == explain("optimizer")
    assert "  type: a section with type: ToyAdam, ToySgd, toy_adam\n" in explain("optimizer.type")


def test_a_section_names_its_keys(toys: None) -> None:
    assert explain("jit_config").endswith("  keys: jit_level, infer_boost")


def test_a_rule_by_its_id(toys: None) -> None:
    rule = RULES[0]
    assert explain(rule.id) == (
        f"{rule.id}  (rule)\n  {rule.doc}\n  keys: {', '.join(rule.keys)}\n  severity: {rule.severity.noun}"
    )
    assert as_json(rule)["rule"] == rule.id


@component("shelf", "Shelf", pending="no wood")
@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """Holds books."""

    books: int = key(
        "How many.",
        3,
        unit="books",
        mindspore="set_context(books)",
        needs="library",
        pending="one is read at a time",
        runs=(1, None),
        deprecated="since 2: write volumes",
    )


def test_every_fact_of_a_key_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mf_config.explain.parts", lambda: [Part("shelf", Shelf)])
    assert explain("books") == (
        "shelf.books  (type: Shelf)\n"
        "  How many.\n"
        "  type: an integer\n"
        "  default: 3\n"
        "  read in run modes: train, finetune, eval, predict\n"
        "  unit: books\n"
        "  sets in MindSpore: set_context(books)\n"
        "  counts only while this is on: library\n"
        "  deprecated: since 2: write volumes\n"
        "  can't be run yet: one is read at a time (a run takes 1, unset only)"
    )
    assert "  can't be run yet: no wood\n" in explain("Shelf")
    assert as_json(find("Shelf")[0]) == {
        "path": "shelf",
        "kind": "shelf",
        "component": ["Shelf"],
        "doc": "Holds books.",
        "inert": "",
        "pending": "no wood",
        "keys": ["books"],
    }


def test_json_has_the_same_facts(toys: None) -> None:
    (entry,) = find("optimizer.momentum")
    assert as_json(entry) == {
        "path": "optimizer.momentum",
        "component": ["ToySgd"],
        "doc": "Momentum.",
        "type": "a number",
        "default": "0.0",
        "required": False,
        "allowed": "from 0",
        "modes": ["train", "finetune"],
        "unit": "",
        "mindspore": "",
        "needs": "",
        "inert": "",
        "inert_on": {"CPU": "the toy has none"},
        "pending": "",
        "runs": [],
        "deprecated": "",
    }
    (required,) = find("model.arch.type")
    assert (as_json(required)["default"], as_json(required)["required"]) == (None, True)
