"""`mf-train explain`: what a key does."""

import argparse
import json

from mf_config.command_line import OK, Command
from mf_config.explain import as_json, explain, find


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("key", help="a dotted path (runner_config.epochs) or the last part of one (epochs)")
    parser.add_argument("--json", action="store_true", help="print a JSON list, one object a key")


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation; returns the exit status."""
    if arguments.json:
        print(json.dumps([as_json(entry) for entry in find(arguments.key)]))
    else:
        print(explain(arguments.key))
    return OK


EXPLAIN = Command("explain", "Say what a key does, its type, default and allowed values.", add_arguments, run)
"""The subcommand."""
