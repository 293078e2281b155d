"""`mf-train validate`: every problem of every file."""

import argparse
import json
import sys

from mf_config import ConfigError, Problem, Severity, examine, load
from mf_config.command_line import OK, USER_ERROR, Command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("configs", nargs="+", metavar="CONFIG", help="run configurations, YAML")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="override a key"
    )
    parser.add_argument("--json", action="store_true", help="print the problems as a JSON list")


def run(arguments: argparse.Namespace) -> int:
    """Print the problems; returns 2 where one of them is an error."""
    found: list[Problem] = []
    for config in arguments.configs:
        found += _problems_of(config, arguments.overrides)
    if arguments.json:
        print(json.dumps([problem.as_json() for problem in found]))
    else:
        for problem in found:
            print(problem)
        print(_count(found, len(arguments.configs)), file=sys.stderr)
    return USER_ERROR if any(problem.severity is Severity.ERROR for problem in found) else OK


def _problems_of(config: str, overrides: list[str]) -> tuple[Problem, ...]:
    try:
        return examine(load(config, overrides)).problems
    except ConfigError as error:
        return error.problems


def _count(found: list[Problem], files: int) -> str:
    counts = [sum(problem.severity is severity for problem in found) for severity in Severity]
    parts = [f"{count} {severity.value}{'s' * (count != 1)}" for count, severity in zip(counts, Severity, strict=True)]
    return f"{', '.join(parts)} in {files} file{'s' * (files != 1)}"


VALIDATE = Command("validate", "Name every problem of every file.", add_arguments, run)
"""The subcommand."""
