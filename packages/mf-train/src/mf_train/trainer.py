"""The training loop: data, step, callbacks."""

import logging
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mf_ckpt
from mf_config import RunConfig

from mf_train.assemble import Job
from mf_train.callback import Callback, Callbacks, Evaluation, RunInfo, StepInfo
from mf_train.checkpoints import find_checkpoint
from mf_train.loss_scale import LossScale
from mf_train.options import RunOptions
from mf_train.progress import ProgressBar
from mf_train.records import MetricsRecorder
from mf_train.signals import StopRequest
from mf_train.start import start_process

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Counters:
    """What a run has done; saved in every checkpoint.

    Attributes:
        step: batches consumed.
        update: optimizer updates applied; less than `step` where gradients overflowed.
        tokens: targets that counted in the loss.
    """

    step: int = 0
    update: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """How a start of a run ended.

    Attributes:
        step: steps done.
        total_steps: steps of the whole run.
        loss: loss of the last step, None where this start did none.
        evaluation: results of the last evaluation, empty where there was none.
        checkpoint: newest checkpoint saved in this start, None where there is none.
        stopped_by: why the run stopped before its last step; empty where it is complete.
    """

    step: int
    total_steps: int
    loss: float | None = None
    evaluation: Mapping[str, float] = field(default_factory=dict)
    checkpoint: Path | None = None
    stopped_by: str = ""


class Trainer:
    """Trains a model as a run configuration says: `Trainer(config).run()`.

    Attributes:
        is_main: whether this process writes files and logs for the run.
        output: where the run writes.
    """

    def __init__(self, config: RunConfig, options: RunOptions = RunOptions()):  # noqa: B008 - frozen
        """Prepares the device and every part of the run; no step is done.

        Raises:
            UserError: data, tokenizer, model or checkpoint don't fit together.
        """
        self._options = options
        self._processes = start_process(config)
        self._job = Job(config, self._processes)
        self.is_main = self._processes.is_main
        self.output = self._job.output
        self._counters = Counters()
        self._loss_scale = LossScale.from_section(config.runner_wrapper.scale_sense)
        self._result: dict[str, Any] = {}
        self._restore(config)
        self._run_info = RunInfo(
            output=self._job.output,
            first_step=self._counters.step,
            total_steps=self._job.total_steps,
            total_epochs=config.runner_config.epochs,
            is_main=self._processes.is_main,
            save=self._save,
        )
        self._callbacks = self._make_callbacks(config)

    def run(self) -> TrainingResult:
        """Do the steps that are left.

        Returns:
            How the run ended. A stop by signal or `stop_after` is no failure: the state is saved.
        """
        first, total = self._counters.step, self._job.total_steps
        stopped_by = ""
        with StopRequest() as stop, closing(self._callbacks):
            self._callbacks.on_train_begin()
            if first == 0:
                self._evaluate()
            while self._counters.step < total and not stopped_by:
                self._callbacks.on_step_end(self._do_step())
                stopped_by = self._reason_to_stop(stop, first)
                if self._evaluation_is_due():
                    self._evaluate()
            self._callbacks.on_train_end()
        self._result["stopped_by"] = stopped_by if self._counters.step < total else ""
        return TrainingResult(step=self._counters.step, total_steps=total, **self._result)

    def _do_step(self) -> StepInfo:
        """One step, and what the callbacks learn of it."""
        counters, job = self._counters, self._job
        begin = time.perf_counter()
        rate, scale = job.learning_rate(counters.update), self._loss_scale.value
        outcome = job.step(job.examples(counters.step), scale=scale, number=counters.update + 1, learning_rate=rate)
        seconds = time.perf_counter() - begin
        epoch = job.batches.epoch_of(counters.step) + 1
        self._loss_scale.update(outcome.overflow)
        counters.step += 1
        counters.update += not outcome.overflow
        counters.tokens += outcome.tokens
        self._result["loss"] = outcome.loss
        return StepInfo(
            step=counters.step,
            total_steps=job.total_steps,
            epoch=epoch,
            loss=outcome.loss,
            lr=rate,
            grad_norm=outcome.grad_norm,
            tokens=counters.tokens,
            tokens_per_second=outcome.tokens / seconds,
            loss_scale=scale,
            overflow=outcome.overflow,
            seconds=seconds,
            seconds_left=seconds * (job.total_steps - counters.step),
        )

    def _evaluate(self) -> None:
        """Evaluate where the run does so, and tell the callbacks."""
        if not self._job.config.do_eval:
            return
        values = self._job.evaluate()
        self._result["evaluation"] = values
        shown = ", ".join(f"{name} {value:.4g}" for name, value in values.items())
        _log.info("evaluation after %d steps: %s", self._counters.step, shown)
        self._callbacks.on_evaluation(Evaluation(step=self._counters.step, values=values))

    def _evaluation_is_due(self) -> bool:
        """At each interval and after the last step."""
        step, interval = self._counters.step, self._job.config.eval_step_interval
        return step == self._job.total_steps or (interval > 0 and step % interval == 0)

    def _reason_to_stop(self, stop: StopRequest, first: int) -> str:
        """The signal or option that ends this start early; all processes agree on it."""
        if self._options.stop_after is not None and self._counters.step - first >= self._options.stop_after:
            return f"--stop-after {self._options.stop_after}"
        return (stop.reason or "signal") if self._processes.any(bool(stop.reason)) else ""

    def _restore(self, config: RunConfig) -> None:
        """Start from `load_checkpoint`, or go on where the run was."""
        if self.is_main:
            mf_ckpt.clean(self.output.checkpoints)
        source = config.load_checkpoint or (str(self._job.output.root) if config.resume_training else None)
        if source is None:
            return
        path = find_checkpoint(Path(source))
        if not config.resume_training:
            self._job.load_weights(path)
            _log.info("weights from %s", path)
            return
        state = self._job.checkpoints.resume(path)
        self._counters = Counters(self._job.batches.step_of(state["data"]), state["update"], state["tokens"])
        self._loss_scale.restore(state["loss_scale"])
        _log.info("resumed from %s, %d of %d steps done", path, self._counters.step, self._job.total_steps)

    def _save(self, keep: int) -> None:
        """Write a checkpoint of the present step; in a run of several processes the main one writes."""
        if not self._processes.is_main:
            return
        counters = self._counters
        state = {
            "step": counters.step,
            "update": counters.update,
            "tokens": counters.tokens,
            "loss_scale": self._loss_scale.state(),
            "data": self._job.batches.state(counters.step),
        }
        self._result["checkpoint"] = self._job.checkpoints.save(counters.step, state, keep)

    def _make_callbacks(self, config: RunConfig) -> Callbacks:
        """The main process records numbers and shows progress; every process has the configured callbacks."""
        own: list[Callback] = []
        if self._processes.is_main:
            own = [MetricsRecorder(self._run_info), ProgressBar(self._run_info)]
        return Callbacks([*own, *(section.build(self._run_info) for section in config.callbacks)])
