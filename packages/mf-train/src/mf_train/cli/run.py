"""`mf-train run`: do what a configuration's `run_mode` says."""

import argparse
import sys
from pathlib import Path

from mf_config import ConfigError, Document, RunConfig, UserError, examine, load
from mf_config.command_line import Command, add_override_option
from mf_config.problems import blockers_in
from mf_models.threads import sleep_while_waiting
from mf_train.dispatch import run_mode
from mf_train.options import RunOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("config", help="a run configuration, YAML")
    add_override_option(parser)
    parser.add_argument("--workers", type=_positive, default=1, metavar="N", help="run in N processes")
    _add_machine_options(parser)
    parser.add_argument(
        "--stop-after", type=_positive, metavar="STEPS", help="stop, with a checkpoint, when this start has done STEPS"
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def _add_machine_options(parser: argparse.ArgumentParser) -> None:
    options = parser.add_argument_group("several machines", "the same command on each, with its own --node-rank")
    options.add_argument("--local-workers", type=_positive, metavar="N", help="how many of the processes start here")
    options.add_argument("--node-rank", type=int, metavar="R", help="number of this machine, from 0")
    options.add_argument("--master-address", metavar="HOST", help="name or address of machine 0")
    options.add_argument("--master-port", type=_positive, metavar="PORT", help="a free port there (8118)")


def run(arguments: argparse.Namespace) -> int:
    """Check the configuration, then carry it out, here or in several processes; returns the exit status."""
    _check_machine(arguments)
    overrides = list(arguments.overrides)
    if arguments.workers > 1:
        overrides.append("use_parallel=True")
    document = load(arguments.config, overrides)
    examined = examine(document)
    if examined.config is None or blockers_in(examined.problems):
        raise ConfigError(examined.problems)
    if arguments.workers > 1:
        return _launch(arguments, document, examined.config)
    for problem in examined.problems:
        print(problem, file=sys.stderr)
    sleep_while_waiting()
    return run_mode(examined.config.run_mode)(examined.config, RunOptions(arguments.stop_after, arguments.json))


def _launch(arguments: argparse.Namespace, document: Document, config: RunConfig) -> int:
    """Start the same command in each of the worker processes, and wait for them."""
    # On demand: it loads NumPy, which would double the time in which `mf-train validate` starts.
    from mf_parallel.launch import SHARED_PORT, Machine
    from mf_train.launch.launcher import launch
    from mf_train.layout.impossible import check_layout

    check_layout(document, config, arguments.workers)
    command = ["-m", "mf_train", "run", arguments.config, "--set", "use_parallel=True"]
    for override in arguments.overrides:
        command += ["--set", override]
    if arguments.stop_after is not None:
        command += ["--stop-after", str(arguments.stop_after)]
    if arguments.json:
        command.append("--json")
    machine = None
    if arguments.master_address is not None:
        port = arguments.master_port or SHARED_PORT
        machine = Machine(arguments.node_rank, arguments.local_workers, arguments.master_address, port)
    return launch(command, arguments.workers, Path(config.output_dir) / "log", machine)


def _check_machine(arguments: argparse.Namespace) -> None:
    """Refuse a machine that is half described.

    Raises:
        UserError: some options are missing.
    """
    needed = {name: getattr(arguments, name) for name in ("local_workers", "node_rank", "master_address")}
    missing = [f"--{name.replace('_', '-')}" for name, value in needed.items() if value is None]
    given = len(missing) < len(needed) or arguments.master_port is not None
    if given and missing:
        raise UserError(f"mf-train run: on several machines {' and '.join(missing)} must be given too.")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


RUN = Command("run", "Do what the configuration's run_mode says.", add_arguments, run)
"""The subcommand."""
