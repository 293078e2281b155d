"""The program `mf-infer` and its subcommands."""

from collections.abc import Sequence

from mf_config.command_line import run_command_line
from mf_infer.cli.bench import BENCH
from mf_infer.cli.chat import CHAT
from mf_infer.cli.generate import GENERATE
from mf_infer.cli.serve import SERVE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Args:
        arguments: the words after the program's name; those of the process where None.
    Returns:
        The exit status.
    """
    return run_command_line(
        "mf-infer", "Generate text with large language models.", [GENERATE, CHAT, SERVE, BENCH], arguments
    )
