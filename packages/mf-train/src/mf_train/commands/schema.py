"""`mf-train schema`: the JSON Schema of a run configuration, for editors."""

import argparse
import json

from mf_config.command_line import OK, Command
from mf_config.json_schema import json_schema


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="accepted for uniformity: the schema is JSON anyway")


def run(arguments: argparse.Namespace) -> int:
    """Print the schema; returns the exit status."""
    print(json.dumps(json_schema(), indent=2))
    return OK


COMMAND = Command("schema", "Print the JSON Schema of a run configuration.", add_arguments, run)
