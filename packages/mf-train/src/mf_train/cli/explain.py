"""`mf-train explain`: what a key does; with a configuration, what the learning rate of its run will be."""

import json
from argparse import Namespace
from collections.abc import Iterable

from mf_config import RunConfig, decode, load
from mf_config.cli import explain
from mf_config.command_line import OK
from mf_config.problems import UserError
from mf_train.cli.commands import SCHEDULE, UPDATES
from mf_train.schedule import LearningRate, WarmUp

_ROWS = 10
"""Rows of the table of rates."""


def run(arguments: Namespace) -> int:
    """Print the explanation; returns the exit status."""
    if arguments.config is None and not arguments.plot:
        return explain.run(arguments)
    if arguments.name != SCHEDULE or arguments.config is None:
        raise UserError(f"explain {arguments.name}: nothing of it can be drawn. Allowed: {SCHEDULE} CONFIG.")
    config: RunConfig = decode(load(arguments.config, arguments.overrides), to_run=False)
    if config.lr_schedule is None:
        raise UserError(f"{arguments.config}: has no {SCHEDULE}, so the optimizer's learning_rate holds throughout.")
    declared = getattr(config.lr_schedule, "total_steps", -1)
    updates = arguments.updates or (declared if declared > 0 else UPDATES)
    groups = () if config.grouped_lr_schedule is None else config.grouped_lr_schedule.grouped
    sources = [
        source.with_epochs_of(updates // config.runner_config.epochs) if isinstance(source, WarmUp) else source
        for source in (config.lr_schedule, *groups)
    ]
    if arguments.json:
        first, *others = [{update: source.rate(update, updates) for update in _spread(updates)} for source in sources]
        grouped = [{"params": group.params, "rates": rates} for group, rates in zip(groups, others, strict=True)]
        print(json.dumps({"updates": updates, "rates": first, **({"grouped": grouped} if groups else {})}))
        return OK
    names = ["", *(f" of {', '.join(group.params)}" for group in groups)]
    for name, source in zip(names, sources, strict=True):
        _show(f"{type(source).__name__} over {updates:,} updates{name}", source, updates, arguments.plot)
    return OK


def _show(title: str, source: LearningRate, updates: int, plot: bool) -> None:
    """Print some rates of a schedule, and the curve where it is asked for."""
    print(title)
    print("\n".join(f"{update:>10,}  {source.rate(update, updates):.4g}" for update in _spread(updates)))
    if plot:
        # On demand: NumPy would double the time that all other explanations take.
        from mf_train.report.text_plot import text_plot

        print(text_plot(lambda update: source.rate(update, updates), updates))


def _spread(updates: int) -> Iterable[int]:
    """Some updates from the first to the last."""
    count = min(_ROWS, updates)
    return sorted({round(row * (updates - 1) / max(count - 1, 1)) for row in range(count)})
