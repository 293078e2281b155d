"""The subcommand `schema`: all keys of a run configuration, for editors and for readers."""

import json
from argparse import Namespace

from mf_config.command_line import OK
from mf_config.json_schema import json_schema
from mf_config.reference import reference_page


def run(arguments: Namespace) -> int:
    """Print the schema; returns the exit status."""
    print(reference_page().rstrip() if arguments.markdown else json.dumps(json_schema(), indent=2))
    return OK
