import pytest

from mf_config.problems import (
    ConfigError,
    Location,
    Problem,
    Severity,
    UserError,
    errors_in,
    in_line_order,
    name_values,
    summarize,
)

HERE = Location("run.yaml", 14)


def test_a_problem_says_where_what_allowed_and_nearest() -> None:
    problem = Problem(HERE, "optimizer.learing_rate", "unknown key", "eps, learning_rate", "learning_rate")
    expected = (
        "run.yaml:14: optimizer.learing_rate: unknown key. Allowed: eps, learning_rate. Did you mean learning_rate?"
    )
    assert str(problem) == expected


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem(HERE, "", "is odd"), "run.yaml:14: is odd."),
        (Problem(Location("run.yaml", 0), "seed", "is odd"), "run.yaml: seed: is odd."),
        (Problem(HERE, "seed", "is odd", severity=Severity.WARNING), "run.yaml:14: seed: warning: is odd."),
        (Problem(HERE, "seed", "is odd", severity=Severity.NOTE), "run.yaml:14: seed: note: is odd."),
    ],
)
def test_a_problem_leaves_out_what_it_does_not_know(problem: Problem, text: str) -> None:
    assert str(problem) == text


def test_json_has_every_part() -> None:
    assert Problem(HERE, "seed", "is odd", "even", "2", Severity.WARNING).as_json() == {
        "file": "run.yaml",
        "line": 14,
        "column": 0,
        "path": "seed",
        "what": "is odd",
        "allowed": "even",
        "suggestion": "2",
        "severity": "warning",
        "rule": "",
    }


def test_an_error_of_one_problem_is_its_line() -> None:
    assert str(ConfigError([Problem(HERE, "seed", "is odd")])) == "run.yaml:14: seed: is odd."


def test_an_error_of_several_problems_sorts_them_and_counts() -> None:
    late, early = Problem(Location("run.yaml", 20), "b", "is odd"), Problem(Location("run.yaml", 9), "a", "is odd")
    error = ConfigError([late, early, late])
    assert error.problems == (early, late)
    assert str(error) == "run.yaml:9: a: is odd.\nrun.yaml:20: b: is odd.\n2 errors in run.yaml"
    assert isinstance(error, UserError)


def test_lines_are_sorted_as_numbers_and_files_by_name() -> None:
    places = [("b.yaml", 2), ("a.yaml", 10), ("a.yaml", 9)]
    problems = [Problem(Location(file, line), "", "is odd") for file, line in places]
    assert [(p.location.file, p.location.line) for p in in_line_order(problems)] == sorted(places)


def test_summary_counts_by_severity_and_names_the_files() -> None:
    problems = [
        Problem(Location("b.yaml", 1), "", "x"),
        Problem(Location("a.yaml", 1), "", "x", severity=Severity.WARNING),
        Problem(Location("a.yaml", 2), "", "x", severity=Severity.WARNING),
        Problem(Location("a.yaml", 2), "", "x", severity=Severity.NOTE),
    ]
    assert summarize(problems) == "1 error, 2 warnings, 1 note in a.yaml, b.yaml"
    assert errors_in(problems) == problems[:1]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, ""), (2, "0, 1"), (12, ", ".join(map(str, range(12)))), (13, ", ".join(map(str, range(12))) + " and 1 more")],
)
def test_at_most_twelve_values_are_listed(count: int, text: str) -> None:
    assert name_values(range(count)) == text
