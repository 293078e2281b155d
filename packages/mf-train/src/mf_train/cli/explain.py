"""`mf-train explain`: what a key does; with a configuration, what the learning rate of its run will be."""

import argparse
import json
from collections.abc import Iterable

from mf_config import RunConfig, decode, load
from mf_config.cli import explain
from mf_config.command_line import OK, Command, add_override_option
from mf_config.problems import UserError
from mf_train.schedule import WarmUp

_SCHEDULE = "lr_schedule"
_ROWS = 10
"""Rows of the table of rates."""

_UPDATES = 1000
"""Length of a run where nothing says it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    explain.add_arguments(parser)
    parser.add_argument("config", nargs="?", help=f"with {_SCHEDULE}: a run configuration, whose rates are shown")
    parser.add_argument("--plot", action="store_true", help="draw the rates as a curve")
    parser.add_argument(
        "--updates", type=int, metavar="N", help=f"updates of the run; total_steps, else {_UPDATES}, where absent"
    )
    add_override_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation; returns the exit status."""
    if arguments.config is None and not arguments.plot:
        return explain.run(arguments)
    if arguments.name != _SCHEDULE or arguments.config is None:
        raise UserError(f"explain {arguments.name}: nothing of it can be drawn. Allowed: {_SCHEDULE} CONFIG.")
    config: RunConfig = decode(load(arguments.config, arguments.overrides), to_run=False)
    schedule = config.lr_schedule
    if schedule is None:
        raise UserError(f"{arguments.config}: has no {_SCHEDULE}, so the optimizer's learning_rate holds throughout.")
    declared = getattr(schedule, "total_steps", -1)
    updates = arguments.updates or (declared if declared > 0 else _UPDATES)
    if isinstance(schedule, WarmUp):
        schedule = schedule.with_epochs_of(updates // config.runner_config.epochs)
    rates = {update: schedule.rate(update, updates) for update in _spread(updates)}
    if arguments.json:
        print(json.dumps({"updates": updates, "rates": rates}))
    else:
        print(f"{type(schedule).__name__} over {updates:,} updates")
        print("\n".join(f"{update:>10,}  {rate:.4g}" for update, rate in rates.items()))
        if arguments.plot:
            # On demand: NumPy would double the time in which the other commands start.
            from mf_train.report.text_plot import text_plot

            print(text_plot(lambda update: schedule.rate(update, updates), updates))
    return OK


def _spread(updates: int) -> Iterable[int]:
    """Some updates from the first to the last."""
    count = min(_ROWS, updates)
    return sorted({round(row * (updates - 1) / max(count - 1, 1)) for row in range(count)})


EXPLAIN = Command("explain", "Say what a key does; draw the learning rate of a run.", add_arguments, run)
"""The subcommand."""
