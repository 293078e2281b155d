"""The training loop: data, step, callbacks."""

import logging
import math
import time
from collections import deque
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import NoReturn

import mf_ckpt
from mf_config import RunConfig
from mf_config.dump import to_yaml
from mf_data.files import write_atomically
from mf_train.assemble import Job
from mf_train.callback import Callback, Callbacks, Evaluation, RunInfo, StepInfo
from mf_train.checkpoint.checkpoints import find_checkpoint
from mf_train.checkpoint.sound_checkpoints import sound_or_before
from mf_train.divergence import DivergenceGuard, skips_loss_spikes
from mf_train.expert_load import load_of
from mf_train.freed_memory import give_back_freed_memory
from mf_train.launch.signals import StopRequest
from mf_train.observers import observers
from mf_train.options import NO_OPTIONS, RunOptions
from mf_train.records.claim import Claim
from mf_train.records.environment import environment
from mf_train.records.json_lines import MetricsRecorder
from mf_train.records.progress import ProgressBar
from mf_train.records.report_writer import ReportWriter
from mf_train.records.utilization import Utilization
from mf_train.start import start_process
from mf_train.state import Counters, TrainingDivergedError, TrainingResult
from mf_train.step.loss_scale import LossScale

_log = logging.getLogger(__name__)

_STEPS_OF_ESTIMATE = 20
"""The time left is estimated from this many last steps: enough to be steady, few enough to follow a change."""


class Trainer:
    """Trains a model as a run configuration says: `Trainer(config).run()`.

    Attributes:
        is_main: whether this process writes files and logs for the run.
        output: where the run writes.
    """

    def __init__(self, config: RunConfig, options: RunOptions = NO_OPTIONS):
        """Prepares the device and every part of the run, and claims its output folder; no step is done.

        Raises:
            UserError: data, tokenizer, model or checkpoint don't fit together, or another run writes to the folder.
        """
        self._options = options
        self._processes = start_process(config)
        self._job = Job(config, self._processes)
        self.is_main = self._processes.is_main
        self.output = self._job.output
        self._stop_reason = ""
        self._is_in_step = False
        self._evaluated_step: int | None = None
        self._counters = Counters()
        self._loss_scale = LossScale.from_section(config.runner_wrapper.scale_sense)
        self._guard = DivergenceGuard.of(config)
        with ExitStack() as claim:
            if self.is_main:
                claim.enter_context(Claim(self.output.root))
            self._restore(config)
            self._prepare(config)
            self._claim = claim.pop_all()

    def _prepare(self, config: RunConfig) -> None:
        """Make what follows from where the run stands."""
        self._utilization = Utilization(config, self._processes.size)
        self._result = TrainingResult(self._counters.step, self._job.total_steps)
        self._step_seconds: deque[float] = deque(maxlen=_STEPS_OF_ESTIMATE)
        self._run_info = RunInfo(
            output=self._job.output,
            first_step=self._counters.step,
            total_steps=self._job.total_steps,
            total_epochs=config.runner_config.epochs,
            is_main=self._processes.is_main,
            save=self._save,
            stop=self._stop,
            agree=self._processes.any,
            can_save_alone=lambda: self._processes.size == 1 and not self._is_in_step,
            evaluate=self._evaluate if config.do_eval else None,
            own_part=lambda: self._job.own_part,
            remote_save_url=config.remote_save_url,
        )
        self._callbacks = self._make_callbacks(config)

    def run(self) -> TrainingResult:
        """Do the steps that are left; call it once, from the main thread, where signals arrive.

        Returns:
            How the run ended. A stop by signal or `stop_after` is no failure: the state is saved.
        Raises:
            TrainingDivergedError: the gradients were not finite, or spiked, in many steps in a row.
        """
        result, counters = self._result, self._counters
        # A checkpoint that is under way is complete before the result is told.
        with (
            self._claim,
            StopRequest() as stop,
            self._callbacks.told_when_files_are_complete(),
            self._job.checkpoints,
            closing(self._callbacks),
            closing(self._job.data),
        ):
            self._begin()
            # Also before the first step: a resumed run may have come as far as it was asked to.
            result.stopped_by = self._reason_to_stop(stop)
            while counters.step < result.total_steps and not result.stopped_by:
                self._callbacks.on_step_begin(counters.step + 1)
                info = self._do_step()
                # Before a callback saves what the guard knows.
                verdict = self._guard.verdict(info.loss, info.grad_norm, info.overflow, self._loss_scale.stuck)
                self._callbacks.on_step_end(info)
                if verdict:
                    self._give_up(f"step {info.step}: {verdict}")
                result.stopped_by = self._reason_to_stop(stop)
                if self._evaluation_is_due():
                    self._evaluate()
            self._callbacks.on_train_end()
        result.step = counters.step
        return result

    def _begin(self) -> None:
        """Make room for this start's files, evaluate the first weights, compile."""
        # Nobody may still be reading a checkpoint that is moved here.
        self._processes.wait_for_all()
        if self.is_main:
            moved = self.output.set_aside(self._counters.step)
            if moved is not None:
                _log.info("moved files of an earlier run that this one would replace to %s", moved)
            write_atomically(self.output.resolved_config, to_yaml(self._job.config).encode())
        name = self._job.config.trainer.model_name or self._job.architecture
        _log.info("training %s: %s parameters, %d steps", name, f"{self._job.size:,}", self._result.total_steps)
        self._callbacks.on_train_begin()
        if self._counters.step == 0:
            self._evaluate()
        goes_on = self._counters.step < self._result.total_steps and not self._stop_reason
        if self._job.config.context.is_graph_mode and goes_on:
            _log.info("compiling the training step")
            begin = time.perf_counter()
            self._job.step.compile(self._job.examples(self._counters.batch))
            _log.info("compiled the training step in %.1f s", time.perf_counter() - begin)
            give_back_freed_memory()

    def _do_step(self) -> StepInfo:
        """One step, and what the callbacks learn of it."""
        counters, job = self._counters, self._job
        begin = time.perf_counter()
        rate, rates = job.learning_rate(counters.schedule_position), job.rates(counters.schedule_position)
        scale = self._loss_scale.value
        examples = job.data.next_examples(counters.batch)
        self._is_in_step = True
        largest_loss = self._guard.loss_spike if skips_loss_spikes(job.config) else math.inf
        outcome = job.step(
            examples, scale=scale, number=counters.update + 1, learning_rate=rates, largest_loss=largest_loss
        )
        seconds = time.perf_counter() - begin
        epoch = job.data.training.epoch_of(counters.batch) + 1
        self._loss_scale.update(outcome.overflow)
        self._step_seconds.append(seconds)
        counters.step += 1
        counters.skipped += not outcome.applied
        counters.update += outcome.applied
        counters.tokens += outcome.tokens
        self._is_in_step = False
        self._result.loss = outcome.loss
        if outcome.tokens == 0:
            _log.warning("step %d: no target counts in the loss, so the step changes nothing", counters.step)
        if outcome.spike:
            what = "step %d: the global norm %.4g is a spike, so the step changes nothing"
            _log.warning(what, counters.step, outcome.grad_norm)
        if outcome.loss_spike:
            what = "step %d: the loss %.4g is a spike, so the step changes nothing"
            _log.warning(what, counters.step, outcome.loss)
        return StepInfo(
            step=counters.step,
            total_steps=job.total_steps,
            epoch=epoch,
            loss=outcome.loss,
            lr=rate,
            grad_norm=outcome.grad_norm,
            tokens=counters.tokens,
            tokens_per_second=outcome.tokens / seconds,
            utilization=self._utilization.at(outcome.tokens / seconds),
            loss_scale=scale,
            overflow=outcome.overflow,
            added_losses=outcome.added_losses,
            expert_load=load_of(outcome.expert_choices, self._processes),
            seconds=seconds,
            seconds_left=fmean(self._step_seconds) * (job.total_steps - counters.step),
        )

    def _give_up(self, why: str) -> NoReturn:
        """End a run that would train nothing if it went on."""
        self._job.checkpoints.wait()
        saved = self._result.checkpoint or mf_ckpt.latest(self.output.checkpoints)
        raise TrainingDivergedError(f"{why}. Newest checkpoint: {saved or 'none'}.")

    def _evaluate(self) -> None:
        """Evaluate where the run does so and has not just done it, and tell the callbacks."""
        if not self._job.config.do_eval or self._evaluated_step == self._counters.step:
            return
        self._evaluated_step = self._counters.step
        values = self._job.evaluate()
        self._result.evaluation = values
        shown = ", ".join(f"{name} {value:.4g}" for name, value in values.items())
        _log.info("evaluation after %d steps: %s", self._counters.step, shown)
        self._callbacks.on_evaluation(Evaluation(step=self._counters.step, values=values))

    def _evaluation_is_due(self) -> bool:
        """At each interval and after the last step."""
        step, config = self._counters.step, self._job.config
        epochs = config.eval_epoch_interval * self._job.data.training.steps_per_epoch
        due = any(interval > 0 and step % interval == 0 for interval in (config.eval_step_interval, epochs))
        return due or step == self._job.total_steps

    def _reason_to_stop(self, stop: StopRequest) -> str:
        """The signal, option or key that ends this start early; all processes agree on it."""
        signalled = self._processes.any(stop.made)
        step, last = self._counters.step, self._job.config.runner_config.stop_step
        if step == self._result.total_steps:
            return ""
        done = step - self._run_info.first_step
        if self._options.stop_after is not None and done >= self._options.stop_after:
            return f"--stop-after {self._options.stop_after}"
        if 0 < last <= step:
            return f"runner_config.stop_step {last}"
        return self._stop_reason or ("a signal" if signalled else "")

    def _restore(self, config: RunConfig) -> None:
        """Start from `load_checkpoint`, or go on where the run was."""
        if self.is_main:
            mf_ckpt.clean(self.output.checkpoints)
        # The others may look for checkpoints only when what a crash left behind is put right.
        self._processes.wait_for_all()
        if config.load_checkpoint is None and not config.resume_training:
            return
        path = find_checkpoint(config.load_checkpoint, config.resume_training, self.output.root)
        if config.resume_training:
            is_named = isinstance(config.resume_training, str) or path == Path(config.load_checkpoint or "")
            # One process reads all files; what it finds holds for the others.
            chosen = str(sound_or_before(path, not is_named)) if self.is_main else ""
            self._resume(Path(self._processes.of_main(chosen)), config.ignore_data_skip)
        else:
            self._job.load_weights(path, is_trained_on=True)
            _log.info("weights from %s", path)

    def _resume(self, path: Path, rows_anew: bool) -> None:
        state = self._job.checkpoints.resume(path)
        self._counters, total = Counters(**state["counters"]), self._job.total_steps
        if rows_anew:
            self._counters.rows_begin = self._counters.step
        else:
            self._counters.step = self._counters.rows_begin + self._job.data.training.step_of(state["data"])
        self._loss_scale.restore(state["loss_scale"])
        # Checkpoints of earlier versions have none.
        if "guard" in state:
            self._guard.restore(state["guard"])
        _log.info("resumed from %s, %d of %d steps done", path, self._counters.step, total)
        if total != state["total_steps"]:
            _log.info("the run has %d steps now, not %d; a schedule of all steps follows", total, state["total_steps"])

    def _stop(self, reason: str) -> None:
        """End after the present step; a callback asks for it, in every process."""
        self._stop_reason = reason

    def _save(self, keep: int, in_background: bool) -> None:
        """Write a checkpoint of the present step; in a run of several processes the main one writes."""
        if not self._processes.is_main:
            self._job.checkpoints.take_part()
            return
        state = {
            "counters": asdict(self._counters),
            "total_steps": self._job.total_steps,
            "loss_scale": self._loss_scale.state(),
            "guard": self._guard.state(),
            "data": self._job.data.training.state(self._counters.batch),
        }
        self._result.checkpoint = self._job.checkpoints.save(self._counters.step, state, keep, in_background)

    def _make_callbacks(self, config: RunConfig) -> Callbacks:
        """The main process records numbers and shows progress; every process has the configured callbacks."""
        own: list[Callback] = []
        if self._processes.is_main:
            surroundings = environment(config.context.device_target, self._processes.size)
            report = ReportWriter(self._run_info, surroundings, self._job.samples)
            own = [MetricsRecorder(self._run_info), ProgressBar(self._run_info), report]
        sections = (*config.callbacks, *observers(config))
        return Callbacks([*own, *(section.build(self._run_info) for section in sections)])
