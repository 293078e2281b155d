from pathlib import Path

import pytest
import yaml

from mf_config.migration.migrate import Migration, migrate_text
from mf_config.migration.rule import Add, KeyPath, Move, Remove, Rename, Value, matches
from mf_config.migration.rules import RULES
from mf_config.problems import ConfigError

DATA = Path(__file__).parent / "data" / "migration"


def migrate(text: str) -> Migration:
    return migrate_text(text, "old.yaml")


@pytest.mark.golden
@pytest.mark.parametrize("name", ["older", "later"])
def test_a_document_becomes_what_a_person_would_write(name: str) -> None:
    result = migrate((DATA / f"{name}.yaml").read_text())
    assert result.text == (DATA / f"{name}.migrated.yaml").read_text()
    assert result.refused == ()


@pytest.mark.parametrize("name", ["older", "later"])
def test_migrating_twice_changes_nothing(name: str) -> None:
    text = (DATA / f"{name}.migrated.yaml").read_text()
    assert migrate(text) == Migration(text, (), ())


def test_notes_name_the_line_of_the_original_the_release_and_the_reason() -> None:
    notes = [str(note) for note in migrate((DATA / "older.yaml").read_text()).changes]
    assert notes[:5] == [
        "old.yaml:3: run_mode: fintune -> finetune: misspelt",
        "old.yaml:4: resume_or_finetune_checkpoint -> load_checkpoint (since 0.6): one key for all run modes",
        "old.yaml:5: use_parallel: Flase -> False: misspelt, and any text counted as true",
        "old.yaml:19: runner_config.has_trained_epoches: removed (since 0.6): the checkpoint knows",
        "old.yaml:20: runner_config.has_trained_steps: removed (since 0.6): the checkpoint knows",
    ]
    assert (
        "old.yaml:33: parallel_config.optimizer_shard -> parallel.enable_parallel_optimizer (since 0.7): "
        "the old key does nothing"
    ) in notes


def test_values_stay_but_for_the_keys_that_changed() -> None:
    before = yaml.safe_load((DATA / "older.yaml").read_text())
    after = yaml.safe_load(migrate((DATA / "older.yaml").read_text()).text)
    for section in ("seed", "train_dataset", "train_dataset_task"):
        assert after[section] == before[section]
    assert after["parallel"] == {**before["parallel"], "enable_parallel_optimizer": True}
    assert after["runner_config"] == {"epochs": 3, "batch_size": 4}
    assert after["model"]["model_config"]["pet_config"]["lora_rank"] == 16


def test_a_later_section_keeps_what_has_no_counterpart() -> None:
    result = migrate("training_args:\n  epochs: 1\n  global_batch_size: 8\n")
    assert yaml.safe_load(result.text) == {"training_args": {"global_batch_size": 8}, "runner_config": {"epochs": 1}}


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("QwenConfig", "num_hidden_layers", "num_layers"),
        ("LlamaConfig", "num_attention_heads", "num_heads"),
        ("GPT2Config", "embedding_size", "hidden_size"),
        ("ChatGLM2Config", "num_block", "num_blocks"),
    ],
)
def test_names_of_a_family(kind: str, old: str, new: str) -> None:
    result = migrate(f"model:\n  model_config:\n    type: {kind}\n    {old}: 12\n")
    assert yaml.safe_load(result.text)["model"]["model_config"] == {"type": kind, new: 12}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("ChatGLM2Config", "num_attention_heads"),
        ("ChatGLM2Config", "layernorm_epsilon"),
        ("DeepseekV2Config", "max_position_embeddings"),
        ("GPT2Config", "max_position_embeddings"),
        ("WhisperConfig", "num_hidden_layers"),
    ],
)
def test_names_that_are_a_familys_own_stay(kind: str, name: str) -> None:
    text = f"model:\n  model_config:\n    type: {kind}\n    {name}: 12\n"
    assert migrate(text) == Migration(text, (), ())


def test_the_language_model_inside_another_model_is_migrated_too() -> None:
    text = (
        "model:\n  model_config:\n    llm_model:\n      model_config:\n        type: QwenConfig\n        num_block: 1\n"
    )
    assert migrate(text).text == text.replace("num_block", "num_blocks")


def test_a_condition_on_another_key_is_kept() -> None:
    text = "model:\n  model_config:\n    extend_method: PI\n    pretrain_seqlen: 2048\n"
    assert migrate(text).text == text
    assert "pretrain_seqlen" not in migrate(text.replace("PI", "'None'")).text


def test_a_later_value_is_translated() -> None:
    text = "parallel_config:\n  cp_comm_type: a2a  # heads\n"
    assert migrate(text).text == "parallel_config:\n  context_parallel_algo: ulysses_cp  # heads\n"


def test_a_later_value_without_counterpart_is_left_to_a_person() -> None:
    result = migrate("parallel_config:\n  cp_comm_type: p2p\n")
    assert [str(note) for note in result.refused] == [
        "old.yaml:2: parallel_config.cp_comm_type: write context_parallel_algo by hand: p2p has no counterpart. "
        "Allowed: all_gather, a2a, all_to_all, a2a+allgather."
    ]
    assert result.text == "parallel_config:\n  cp_comm_type: p2p\n"


def test_a_file_that_is_not_sound_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"old.yaml:2.*written twice"):
        migrate("seed: 1\nseed: 2\n")
    with pytest.raises(ConfigError, match=r"old.yaml:2.*not valid YAML"):
        migrate("seed: [\n")


@pytest.mark.parametrize("text", ["", "# only this\n", "---\n"])
def test_an_empty_file_stays(text: str) -> None:
    assert migrate(text) == Migration(text, (), ())


def test_aliases_of_aliases_end_in_a_message() -> None:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{n}: &a{n} {{" + ", ".join(f"k{i}: *a{n - 1}" for i in range(9)) + "}" for n in range(1, 9)]
    with pytest.raises(ConfigError, match="counting each alias"):
        migrate("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("a.b", ("a", "b"), True),
        ("a.b", ("a", "b", "c"), False),
        ("**.b", ("b",), True),
        ("**.b", ("x", "[T]", "b"), True),
        ("**.b", ("b", "c"), False),
        ("a.[].b", ("a", "[T]", "b"), True),
        ("a.[].b", ("a", "x", "b"), False),
        ("a.[T].b", ("a", "[U]", "b"), False),
    ],
)
def test_patterns(pattern: str, path: KeyPath, expected: bool) -> None:
    assert matches(tuple(pattern.split(".")), path) is expected


def test_no_rule_undoes_another() -> None:
    """Whatever a rule writes, no rule takes away again: else migrating twice would not be migrating once."""
    for rule in RULES:
        if isinstance(rule, Rename | Move | Add):
            base = rule.pattern[:-1] if isinstance(rule, Rename) else ()
            written = rule.pattern if isinstance(rule, Add) else (*base, *rule.new.split("."))
            taken = [
                other.path
                for other in RULES
                if isinstance(other, Rename | Move | Remove) and matches(other.pattern, written)
            ]
            assert taken == [], rule
        elif isinstance(rule, Value):
            undoing = [other for other in RULES if isinstance(other, Value) and other.old == rule.new]
            assert undoing == [], rule


def test_every_rule_says_why() -> None:
    assert all(rule.why and not rule.why.endswith(".") for rule in RULES)
    assert len({(rule.path, getattr(rule, "old", ""), rule.when) for rule in RULES}) == len(RULES)
