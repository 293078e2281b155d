"""The subcommand `explain`: what a key, a component or a rule is."""

import argparse
import json

from mf_config.command_line import OK, Command
from mf_config.explain import as_json, explain, find


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "name",
        help="a dotted path (runner_config.epochs), the last part of one (epochs), a type (AdamW) or the id of a rule",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list, one object a key, component or rule")


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation; returns the exit status."""
    if arguments.json:
        print(json.dumps([as_json(subject) for subject in find(arguments.name)]))
    else:
        print(explain(arguments.name))
    return OK


EXPLAIN = Command("explain", "Say what a key does, its type, default and allowed values.", add_arguments, run)
"""The subcommand."""
