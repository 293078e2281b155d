import pytest

from mf_config.explain import allowed_values, as_json, explain, find
from mf_config.problems import UserError


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
    assert "  has no effect: " in explain("train_dataset.prefetch_size")


def test_a_last_part_finds_every_section(toys: None) -> None:
    assert [entry.path for entry in find("learning_rate")] == ["optimizer.learning_rate", "optimizer.learning_rate"]
    assert explain("learning_rate").count("\n\n") == 1


@pytest.mark.parametrize("name", ["callbacks[].every", "callbacks.every", "every"])
def test_list_marks_may_be_left_out(toys: None, name: str) -> None:
    assert [entry.path for entry in find(name)] == ["callbacks[].every"]


def test_an_unknown_key_names_the_nearest(toys: None) -> None:
    with pytest.raises(UserError, match=r"^runer_config\.epoch: no such key\. Did you mean runner_config\.epochs\?$"):
        explain("runer_config.epoch")
    with pytest.raises(UserError, match=r"^xyzzy: no such key\.$"):
        explain("xyzzy")


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
        "inert": "",
        "inert_on": {"CPU": "the toy has none"},
    }
    (required,) = find("model.arch.type")
    assert (as_json(required)["default"], as_json(required)["required"]) == (None, True)


def test_allowed_values_are_a_list_or_a_range(toys: None) -> None:
    assert allowed_values(find("model.model_config.kind")[0]) == "plain, gated"
    assert allowed_values(find("model.model_config.seq_length")[0]) == "from 1"
    assert allowed_values(find("output_dir")[0]) == ""
