"""The program `mf-data`."""

from collections.abc import Sequence

from mf_config.command_line import run_command_line
from mf_data.cli.commands import COMMANDS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Args:
        arguments: the words after the program's name; those of the process where None.
    Returns:
        The exit status.
    """
    return run_command_line("mf-data", "Text to what a language model trains on.", COMMANDS, arguments)
