"""The subcommand `schema`: all keys of a run configuration, for editors and for readers."""

import argparse
import json

from mf_config.command_line import OK, Command
from mf_config.json_schema import json_schema
from mf_config.reference import reference_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--markdown", action="store_true", help="print the reference page instead of the JSON Schema")
    parser.add_argument("--json", action="store_true", help="accepted for uniformity: the schema is JSON anyway")


def run(arguments: argparse.Namespace) -> int:
    """Print the schema; returns the exit status."""
    print(reference_page().rstrip() if arguments.markdown else json.dumps(json_schema(), indent=2))
    return OK


SCHEMA = Command("schema", "Print the JSON Schema of a run configuration.", add_arguments, run)
"""The subcommand."""
