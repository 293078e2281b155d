"""`mf-train run`: do what a configuration's `run_mode` says."""

import argparse
import sys
from pathlib import Path

from mf_config import ConfigError, examine, load
from mf_config.command_line import Command, add_override_option
from mf_config.problems import blockers_in
from mf_models.threads import sleep_while_waiting
from mf_train.dispatch import run_mode
from mf_train.options import RunOptions
from mf_train.process_count import check_process_count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("config", help="a run configuration, YAML")
    add_override_option(parser)
    parser.add_argument("--workers", type=_positive, default=1, metavar="N", help="start N local processes")
    parser.add_argument(
        "--stop-after", type=_positive, metavar="STEPS", help="stop, with a checkpoint, when this start has done STEPS"
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Check the configuration, then carry it out, here or in several processes; returns the exit status."""
    overrides = list(arguments.overrides)
    if arguments.workers > 1:
        overrides.append("use_parallel=True")
    examined = examine(load(arguments.config, overrides))
    if examined.config is None or blockers_in(examined.problems):
        raise ConfigError(examined.problems)
    if arguments.workers > 1:
        check_process_count(examined.config, arguments.workers)
        return _launch(arguments, Path(examined.config.output_dir))
    for problem in examined.problems:
        print(problem, file=sys.stderr)
    sleep_while_waiting()
    return run_mode(examined.config.run_mode)(examined.config, RunOptions(arguments.stop_after, arguments.json))


def _launch(arguments: argparse.Namespace, output_dir: Path) -> int:
    """Start the same command in each of the worker processes, and wait for them."""
    # On demand: it loads NumPy, which would double the time in which `mf-train validate` starts.
    from mf_train.launcher import launch

    command = ["-m", "mf_train", "run", arguments.config, "--set", "use_parallel=True"]
    for override in arguments.overrides:
        command += ["--set", override]
    if arguments.stop_after is not None:
        command += ["--stop-after", str(arguments.stop_after)]
    if arguments.json:
        command.append("--json")
    return launch(command, arguments.workers, output_dir / "log")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


RUN = Command("run", "Do what the configuration's run_mode says.", add_arguments, run)
"""The subcommand."""
