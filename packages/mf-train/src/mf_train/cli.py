"""The command line `mf-train`; MindSpore is imported only by `run`."""

from collections.abc import Sequence

from mf_config.command_line import run_command_line
from mf_train.commands import explain, run, schema, validate


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `mf-train` with the given arguments, those of the process where None; returns the exit status."""
    commands = (run.COMMAND, validate.COMMAND, explain.COMMAND, schema.COMMAND)
    return run_command_line("mf-train", "Train large language models from one run configuration.", commands, arguments)
