"""The program `mf-train` and its subcommands."""

from collections.abc import Sequence

from mf_config.cli.schema import SCHEMA
from mf_config.cli.validate import VALIDATE
from mf_config.command_line import run_command_line
from mf_config.migration.command import MIGRATE
from mf_train.cli.explain import EXPLAIN
from mf_train.cli.plan import PLAN
from mf_train.cli.report import REPORT
from mf_train.cli.run import RUN


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Args:
        arguments: the words after the program's name; those of the process where None.
    Returns:
        The exit status.
    """
    commands = (RUN, PLAN, REPORT, VALIDATE, EXPLAIN, SCHEMA, MIGRATE)
    return run_command_line("mf-train", "Train large language models from one run configuration.", commands, arguments)
