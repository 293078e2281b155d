"""The program `mf-ckpt`."""

from collections.abc import Sequence

from mf_ckpt.cli.commands import COMMANDS
from mf_config.command_line import run_command_line


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `mf-ckpt`.

    Args:
        arguments: the words after the program's name; those of the process where None.

    Returns:
        Exit status: 0 done, 1 `verify` found a fault or `diff` a difference, 2 a user's mistake.
    """
    return run_command_line("mf-ckpt", "Look at, check and change checkpoints of language models.", COMMANDS, arguments)
