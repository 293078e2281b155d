"""What `run_mode` train, finetune and eval do; `mf_train.dispatch` finds these functions by their entry points."""

import logging
import sys
from collections.abc import Mapping
from dataclasses import asdict

from mf_config import RunConfig
from mf_config.command_line import FAILURE, OK
from mf_data.files import write_atomically
from mf_train.assemble import Job
from mf_train.checkpoint.checkpoints import find_checkpoint
from mf_train.options import RunOptions
from mf_train.records.json_lines import to_json
from mf_train.start import start_process
from mf_train.state import TrainingDivergedError, TrainingResult
from mf_train.trainer import Trainer

_log = logging.getLogger(__name__)


def train(config: RunConfig, options: RunOptions) -> int:
    """Train or finetune; see `mf_train.trainer.Trainer`. Returns the exit status."""
    if config.only_save_strategy:
        return _save_layout(config)
    trainer = Trainer(config, options)
    try:
        result = trainer.run()
    except TrainingDivergedError as error:
        _log.error("%s", error)
        return FAILURE
    if trainer.is_main:
        _log.info("%s", _summary(result))
        _print({**asdict(result), "checkpoint": str(result.checkpoint or "")}, options)
    return OK


def evaluate(config: RunConfig, options: RunOptions) -> int:
    """Evaluate `load_checkpoint` on the held-out rows. Returns the exit status."""
    processes = start_process(config)
    job = Job(config, processes)
    path = find_checkpoint(config.load_checkpoint, False, job.output.root)
    job.load_weights(path)
    values = job.evaluate()
    if processes.is_main:
        _log.info("%s: %s", path, ", ".join(f"{name} {value:.4g}" for name, value in values.items()))
        _print({"checkpoint": str(path), **values}, options)
    return OK


def _save_layout(config: RunConfig) -> int:
    """Write the layout of the weights, as each checkpoint has it."""
    processes = start_process(config)
    job = Job(config, processes)
    if processes.is_main:
        write_atomically(job.output.layout, (to_json(job.layout().to_json()) + "\n").encode())
        _log.info("the layout of the weights is in %s", job.output.layout)
    return OK


def _summary(result: TrainingResult) -> str:
    """How training ended, in a sentence or two."""
    if result.loss is None and not result.stopped_by:
        return f"nothing left to do: all {result.total_steps} steps are done."
    saved = f"Checkpoint: {result.checkpoint}" if result.checkpoint else "No checkpoint was saved."
    if result.stopped_by:
        advice = "; go on with --set resume_training=True" if result.checkpoint else ""
        return f"stopped by {result.stopped_by} after {result.step} of {result.total_steps} steps. {saved}{advice}"
    return f"done: {result.step} steps. {saved}"


def _print(result: Mapping[str, object], options: RunOptions) -> None:
    if options.json:
        sys.stdout.write(to_json(result) + "\n")
