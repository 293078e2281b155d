"""The program `mf-config` with its subcommands."""

from collections.abc import Sequence

from mf_config.cli.commands import EXPLAIN, MIGRATE, SCHEMA, VALIDATE
from mf_config.command_line import run_command_line


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Args:
        arguments: the words after the program's name; those of the process where None.
    Returns:
        The exit status.
    """
    commands = (VALIDATE, EXPLAIN, SCHEMA, MIGRATE)
    return run_command_line("mf-config", "Read, check and explain run configurations.", commands, arguments)
