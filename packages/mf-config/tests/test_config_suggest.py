import pytest

from mf_config.suggest import nearest

KEYS = ("learning_rate", "batch_size", "num_heads", "lr_schedule", "model_parallel", "eval_step_interval")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("learing_rate", "learning_rate"),
        ("batchsize", "batch_size"),
        ("BATCH-SIZE", "batch_size"),
        ("num_head", "num_heads"),
        ("lr_scheduler", "lr_schedule"),
        ("num_haeds", "num_heads"),
        ("lr", "learning_rate"),
        ("LR", "learning_rate"),
        ("tp", "model_parallel"),
    ],
)
def test_the_nearest_key_is_found(written: str, meant: str) -> None:
    assert nearest(written, KEYS) == meant


@pytest.mark.parametrize("written", ["", "colour", "data_parallel", "lr_scale", "rate"])
def test_no_guess_where_only_a_part_agrees(written: str) -> None:
    assert nearest(written, KEYS) == ""


def test_no_guess_among_nothing() -> None:
    assert nearest("seed", ()) == ""


def test_a_synonym_counts_only_where_its_word_is_valid() -> None:
    assert nearest("lr", ("eps",)) == ""


def test_class_names_that_share_an_ending_are_not_near() -> None:
    assert nearest("ADGenDataLoader", ("TextDataLoader", "PythonLibraryDataLoader")) == ""


def test_the_spelling_of_the_choice_is_kept() -> None:
    assert nearest("Flase", ("True", "False")) == "False"
    assert nearest("llamaconfig", ("LlamaConfig", "MistralConfig")) == "LlamaConfig"
