"""What `run_mode` train, finetune and eval do; `mf_train.dispatch` finds these functions by their entry points."""

import logging
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import mf_ckpt
from mf_config import RunConfig
from mf_config.command_line import FAILURE, OK
from mf_data.files import write_atomically
from mf_train.assemble import Job
from mf_train.callback import Callbacks, Evaluation, RunInfo
from mf_train.checkpoint.checkpoints import find_checkpoint, strategy_for
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
    steps, run = _steps_behind(path, strategy_for(path, config)), _nothing_to_train(job)
    with closing(Callbacks(section.build(run) for section in config.eval_callbacks)) as callbacks:
        callbacks.on_evaluation(Evaluation(step=steps, values=values))
    if processes.is_main:
        _log.info("%s: %s", path, ", ".join(f"{name} {value:.4g}" for name, value in values.items()))
        _print({"checkpoint": str(path), **values}, options)
    return OK


def _nothing_to_train(job: Job) -> RunInfo:
    """What callbacks of an evaluation may know and ask: there are no steps to stop and no state to save."""
    return RunInfo(
        output=job.output,
        first_step=0,
        total_steps=0,
        total_epochs=0,
        is_main=job.processes.is_main,
        save=lambda keep, in_background: None,
        stop=lambda reason: None,
        agree=job.processes.any,
        can_save_alone=lambda: False,
        evaluate=None,
        own_part=lambda: job.own_part,
    )


def _steps_behind(path: Path, strategy: str | None) -> int:
    """Training steps that a checkpoint comes from; 0 where it says nothing of them."""
    counters = (mf_ckpt.open(path, strategy).trainer_state or {}).get("counters", {})
    steps: int = counters.get("step", 0)
    return steps


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
