"""`mf-train explain`: what a key does; with a configuration, what the learning rate of its run will be."""

import json
from argparse import Namespace
from collections.abc import Iterable

from mf_config import RunConfig, decode, load
from mf_config.cli import explain
from mf_config.command_line import OK
from mf_config.problems import UserError
from mf_train.cli.commands import SCHEDULE, UPDATES
from mf_train.schedule import WarmUp

_ROWS = 10
"""Rows of the table of rates."""


def run(arguments: Namespace) -> int:
    """Print the explanation; returns the exit status."""
    if arguments.config is None and not arguments.plot:
        return explain.run(arguments)
    if arguments.name != SCHEDULE or arguments.config is None:
        raise UserError(f"explain {arguments.name}: nothing of it can be drawn. Allowed: {SCHEDULE} CONFIG.")
    config: RunConfig = decode(load(arguments.config, arguments.overrides), to_run=False)
    schedule = config.lr_schedule
    if schedule is None:
        raise UserError(f"{arguments.config}: has no {SCHEDULE}, so the optimizer's learning_rate holds throughout.")
    declared = getattr(schedule, "total_steps", -1)
    updates = arguments.updates or (declared if declared > 0 else UPDATES)
    if isinstance(schedule, WarmUp):
        schedule = schedule.with_epochs_of(updates // config.runner_config.epochs)
    rates = {update: schedule.rate(update, updates) for update in _spread(updates)}
    if arguments.json:
        print(json.dumps({"updates": updates, "rates": rates}))
    else:
        print(f"{type(schedule).__name__} over {updates:,} updates")
        print("\n".join(f"{update:>10,}  {rate:.4g}" for update, rate in rates.items()))
        if arguments.plot:
            # On demand: NumPy would double the time that all other explanations take.
            from mf_train.report.text_plot import text_plot

            print(text_plot(lambda update: schedule.rate(update, updates), updates))
    return OK


def _spread(updates: int) -> Iterable[int]:
    """Some updates from the first to the last."""
    count = min(_ROWS, updates)
    return sorted({round(row * (updates - 1) / max(count - 1, 1)) for row in range(count)})
