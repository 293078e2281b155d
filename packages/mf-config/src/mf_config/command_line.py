"""What the command lines of all mf packages share: subcommands, exit statuses, and messages without tracebacks."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import NoReturn

from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest

OK, FAILURE, USER_ERROR = 0, 1, 2
"""Exit statuses: done; a failure at run time (or a finding); wrong use or a wrong configuration."""


@dataclass(frozen=True, slots=True)
class Command:
    """One subcommand.

    Attributes:
        name: the word on the command line.
        summary: one line for `--help`.
        add_arguments: declares the command's options on its parser.
        run: does the work and returns the exit status; may raise `UserError`.
    """

    name: str
    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def run_of(module: str) -> Callable[[argparse.Namespace], int]:
    """The function `run` of a module that is imported when the command runs: help texts don't wait for what it needs.

    Args:
        module: its full name.
    """

    def run(parsed: argparse.Namespace) -> int:
        status: int = import_module(module).run(parsed)
        return status

    return run


def add_override_option(parser: argparse.ArgumentParser) -> None:
    """Declare `--set`, which gives the overrides that `mf_config.load` takes as `overrides`."""
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a key, or with @FILE those that a file has; repeatable",
    )


class _Parser(argparse.ArgumentParser):
    """A parser that takes no abbreviated options and reports wrong use like every other user's mistake."""

    def __init__(self, prog: str | None = None, description: str | None = None):
        super().__init__(prog=prog, description=description, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see {self.prog} --help)")


def run_command_line(
    prog: str, description: str, commands: Sequence[Command], arguments: Sequence[str] | None = None
) -> int:
    """Parse the arguments and run the subcommand that they name.

    Args:
        prog: name of the program.
        description: what it is for.
        commands: its subcommands.
        arguments: the words after the program's name; those of the process where None.
    Returns:
        The exit status: that of the command, 2 for a user's mistake, 1 for a failure that the command reports as
        `OSError`, 130 after Ctrl-C. Anything else is a defect and keeps its traceback.
    """
    parser = _Parser(prog=prog, description=description)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in commands:
        subparser = subparsers.add_parser(command.name, help=command.summary, description=command.summary)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    words = sys.argv[1:] if arguments is None else arguments
    try:
        _check_command(prog, words, [command.name for command in commands])
        parsed, unknown = parser.parse_known_args(words)
        if unknown:
            raise UserError(f"unknown arguments: {' '.join(unknown)} (see {prog} {parsed.command} --help)")
        status: int = parsed.run(parsed)
    except UserError as error:
        print(error, file=sys.stderr)
        return USER_ERROR
    except BrokenPipeError:
        # The reader of the output has gone: the interpreter's own flush at exit must not fail on it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except OSError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return FAILURE
    except KeyboardInterrupt:
        print(f"{prog}: interrupted", file=sys.stderr)
        return 130
    return status


def _check_command(prog: str, words: Sequence[str], names: Sequence[str]) -> None:
    """Refuse an unknown subcommand with the nearest one, which argparse does not name.

    Raises:
        UserError: the first word is neither a subcommand nor an option.
    """
    if words and not words[0].startswith("-") and words[0] not in names:
        near = nearest(words[0], names)
        hint = f" Did you mean {near}?" if near else ""
        raise UserError(f"{prog}: no command is named {words[0]}. Allowed: {name_values(names)}.{hint}")
