"""The subcommand `explain`: what a key, a component or a rule is."""

import json
from argparse import Namespace

from mf_config.command_line import OK
from mf_config.explain import as_json, explain, find


def run(arguments: Namespace) -> int:
    """Print the explanation; returns the exit status."""
    if arguments.json:
        print(json.dumps([as_json(subject) for subject in find(arguments.name)]))
    else:
        print(explain(arguments.name))
    return OK
