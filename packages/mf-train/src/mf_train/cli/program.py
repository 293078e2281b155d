"""The program `mf-train`."""

from collections.abc import Sequence

from mf_config.cli.commands import MIGRATE, SCHEMA, VALIDATE
from mf_config.command_line import run_command_line
from mf_train.cli.commands import EXPLAIN, PLAN, REPORT, RUN


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Args:
        arguments: the words after the program's name; those of the process where None.
    Returns:
        The exit status.
    """
    commands = (RUN, PLAN, REPORT, VALIDATE, EXPLAIN, SCHEMA, MIGRATE)
    return run_command_line("mf-train", "Train large language models from one run configuration.", commands, arguments)
