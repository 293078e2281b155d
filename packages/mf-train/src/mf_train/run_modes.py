"""What `run_mode` train, finetune and eval do; `mf_train.dispatch` finds these functions by their entry points."""

import json
import logging
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from mf_config import RunConfig
from mf_config.command_line import OK
from mf_config.dump import to_yaml

from mf_train.assemble import Job
from mf_train.checkpoints import find_checkpoint
from mf_train.options import RunOptions
from mf_train.records import write_atomically
from mf_train.start import start_process
from mf_train.trainer import Trainer, TrainingResult

_log = logging.getLogger(__name__)


def train(config: RunConfig, options: RunOptions) -> int:
    """Train or finetune; see `mf_train.trainer.Trainer`. Returns the exit status."""
    trainer = Trainer(config, options)
    if trainer.is_main:
        write_atomically(trainer.output.resolved_config, to_yaml(config))
    result = trainer.run()
    if trainer.is_main:
        _log.info(_summary(result))
        _print({**asdict(result), "checkpoint": str(result.checkpoint or "")}, options)
    return OK


def evaluate(config: RunConfig, options: RunOptions) -> int:
    """Evaluate `load_checkpoint` on the held-out rows. Returns the exit status."""
    processes = start_process(config)
    job = Job(config, processes)
    assert config.load_checkpoint is not None, "a rule demands load_checkpoint for run_mode eval"
    path = find_checkpoint(Path(config.load_checkpoint))
    job.load_weights(path)
    values = job.evaluate()
    if processes.is_main:
        _log.info("%s: %s", path, ", ".join(f"{name} {value:.4g}" for name, value in values.items()))
        _print({"checkpoint": str(path), **values}, options)
    return OK


def _summary(result: TrainingResult) -> str:
    """How training ended, in a sentence or two."""
    saved = f" Checkpoint: {result.checkpoint}" if result.checkpoint else " No checkpoint was saved."
    if result.stopped_by:
        advice = " Go on with --set resume_training=True." if result.checkpoint else ""
        return f"stopped by {result.stopped_by} after {result.step} of {result.total_steps} steps.{saved}{advice}"
    return f"done: {result.step} steps.{saved}"


def _print(result: Mapping[str, object], options: RunOptions) -> None:
    if options.json:
        sys.stdout.write(json.dumps(result) + "\n")
