"""`mf-train run`: do what a configuration's `run_mode` says."""

import sys
from argparse import Namespace
from pathlib import Path

from mf_config import ConfigError, Document, RunConfig, UserError, examine, load
from mf_config.problems import blockers_in
from mf_models.threads import sleep_while_waiting
from mf_train.dispatch import run_mode
from mf_train.options import RunOptions


def run(arguments: Namespace) -> int:
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


def _launch(arguments: Namespace, document: Document, config: RunConfig) -> int:
    """Start the same command in each of the worker processes, and wait for them."""
    # On demand: it loads NumPy, for which a refusal of the configuration need not wait.
    from mf_parallel.launch import SHARED_PORT, Machine
    from mf_train.launch.launcher import launch
    from mf_train.layout.impossible import check_layout
    from mf_train.records.output import OutputFolder

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
    return launch(command, arguments.workers, OutputFolder(Path(config.output_dir)), machine)


def _check_machine(arguments: Namespace) -> None:
    """Refuse a machine that is half described.

    Raises:
        UserError: some options are missing.
    """
    needed = {name: getattr(arguments, name) for name in ("local_workers", "node_rank", "master_address")}
    missing = [f"--{name.replace('_', '-')}" for name, value in needed.items() if value is None]
    given = len(missing) < len(needed) or arguments.master_port is not None
    if given and missing:
        raise UserError(f"mf-train run: on several machines {' and '.join(missing)} must be given too.")
