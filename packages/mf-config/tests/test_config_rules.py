from collections.abc import Callable

import pytest

from mf_config.problems import Problem, Severity

ProblemsOf = Callable[..., list[Problem]]


def errors(problems: list[Problem]) -> list[str]:
    return [str(problem) for problem in problems if problem.severity is Severity.ERROR]


def without(text: str, section: str) -> str:
    """The file without one top-level section."""
    kept, keep = [], True
    for line in text.splitlines(keepends=True):
        if not line.startswith(" "):
            keep = not line.startswith(f"{section}:")
        kept.append(line if keep else "")
    return "".join(kept)


def test_a_right_file_breaks_no_rule(problems_of: ProblemsOf, train_file: str) -> None:
    assert errors(problems_of(train_file)) == []


@pytest.mark.parametrize("section", ["train_dataset_task", "optimizer"])
def test_training_needs_its_sections(problems_of: ProblemsOf, train_file: str, section: str) -> None:
    assert errors(problems_of(without(train_file, section))) == [
        f"run.yaml: {section}: is missing, and run_mode train needs it. Allowed: a value or section."
    ]


def test_evaluation_while_training_needs_its_sections(problems_of: ProblemsOf, train_file: str) -> None:
    assert errors(problems_of(train_file, "do_eval=True")) == [
        f"run.yaml: {section}: is missing, and run_mode train with do_eval needs it. Allowed: a value or section."
        for section in ("eval_dataset", "eval_dataset_task", "metric")
    ]
    found = errors(problems_of(without(train_file, "optimizer"), "do_eval=True"))
    assert "run.yaml: optimizer: is missing, and run_mode train needs it. Allowed: a value or section." in found


@pytest.mark.parametrize(
    ("mode", "needed"),
    [
        ("eval", ["eval_dataset", "eval_dataset_task", "load_checkpoint", "metric"]),
        ("predict", ["input_data", "load_checkpoint"]),
    ],
)
def test_other_run_modes_need_other_sections(
    problems_of: ProblemsOf, train_file: str, mode: str, needed: list[str]
) -> None:
    text = without(without(without(train_file, "optimizer"), "train_dataset_task"), "train_dataset")
    assert errors(problems_of(text, f"run_mode={mode}")) == [
        f"run.yaml: {section}: is missing, and run_mode {mode} needs it. Allowed: a value or section."
        for section in needed
    ]


def test_the_network_belongs_to_the_family(problems_of: ProblemsOf, train_file: str) -> None:
    assert errors(problems_of(train_file.replace("ToyForCausalLM", "ToyForCausallm2"))) == [
        "run.yaml:13: model.arch.type: ToyForCausallm2 is not a network of ToyConfig. "
        "Allowed: ToyForCausalLM. Did you mean ToyForCausalLM?"
    ]


def test_a_dataset_that_is_read_needs_a_tokenizer(problems_of: ProblemsOf, train_file: str) -> None:
    text = without(train_file, "processor")
    line = text.splitlines().index("train_dataset: &train_dataset") + 1
    assert errors(problems_of(text)) == [
        f"run.yaml:{line}: train_dataset.tokenizer: is missing. Allowed: a section here or under processor."
    ]
    unread = errors(problems_of(text, "run_mode=predict", "input_data=hello", "load_checkpoint=here"))
    assert unread == []


def test_the_learning_rate_is_given_somewhere(problems_of: ProblemsOf, train_file: str) -> None:
    text = train_file.replace("  learning_rate: 1e-3\n", "")
    line = text.splitlines().index("optimizer:") + 2
    assert errors(problems_of(text)) == [
        f"run.yaml:{line}: optimizer.learning_rate: is missing, and there is no lr_schedule. "
        "Allowed: a number, or a section lr_schedule."
    ]
    assert errors(problems_of(f"{text}lr_schedule: {{type: ToyRamp}}\n")) == []
    assert errors(problems_of(text, "run_mode=predict", "input_data=hello", "load_checkpoint=here")) == []


def test_rules_wait_until_every_value_can_be_read(problems_of: ProblemsOf, train_file: str) -> None:
    found = problems_of(without(train_file, "optimizer"), "seed=x")
    assert [problem.path for problem in found] == ["seed"]
