"""Checkpoints at intervals and at the end."""

import logging
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import mf_ckpt
from mf_config.schema import component, key
from mf_train.callback import Callback, RunInfo, StepInfo

_log = logging.getLogger(__name__)


@component("callback", "CheckpointMonitor")
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointMonitor:
    """Save the whole state of the run; a checkpoint is complete or it is not one."""

    save_checkpoint_steps: int = key(
        "Steps from one checkpoint to the next, where save_checkpoint_seconds is 0.", 1, minimum=1, unit="steps"
    )
    keep_checkpoint_max: int = key("Complete checkpoints to keep, newest first; 0 keeps all.", 5, minimum=0)
    save_checkpoint_seconds: int = key(
        "Seconds from one checkpoint to the next, instead of steps.", 0, minimum=0, unit="seconds"
    )
    keep_checkpoint_per_n_minutes: int = key(
        "Keep checkpoints that were saved at least so far apart, and the newest; where keep_checkpoint_max is 0.",
        0,
        minimum=0,
        unit="minutes",
    )
    save_trainable_params: bool = key(
        "Save the trainable weights in a file of their own as well.",
        False,
        inert="the weights that are trained beside others have files of their own in any case",
    )
    exception_save: bool = key(
        "Save once more where the run fails between two steps, in its rows or an evaluation; with one process.", False
    )
    directory: str | None = key(
        "Folder of the checkpoints.", None, inert="checkpoints stand in the folder checkpoint of output_dir"
    )
    enc_key: str | None = key("Key that encrypts the checkpoints.", None, pending="checkpoints are not encrypted")
    enc_mode: str = key(
        "How checkpoints are encrypted.",
        "AES-GCM",
        allowed=("AES-GCM", "AES-CBC", "SM4-CBC"),
        inert="checkpoints are not encrypted",
    )
    prefix: str = key("Beginning of file names.", "CKP", inert="checkpoints are folders named after their step")
    integrated_save: bool = key(
        "Gather sliced parameters before saving.", True, inert="a checkpoint is whole, with its layout beside it"
    )
    save_network_params: bool = key(
        "Save the weights without the optimizer as well.",
        True,
        inert="a checkpoint has the weights in files of their own",
    )
    async_save: bool = key("Go on with training while a checkpoint is written, which takes memory for a copy.", False)
    append_info: tuple[Any, ...] | None = key(
        "Further numbers to save: epoch_num, step_num.", None, inert="a checkpoint has the state of the whole run"
    )
    global_batch_size: int | None = key("Rows of a step.", None, minimum=1, inert="the run itself says it")

    def build(self, run: RunInfo) -> Callback:
        """See `mf_train.callback.CallbackSection.build`."""
        if self.keep_checkpoint_per_n_minutes and self.keep_checkpoint_max:
            what = "CheckpointMonitor: keep_checkpoint_per_n_minutes has no effect beside keep_checkpoint_max %d, not 0"
            _log.warning(what, self.keep_checkpoint_max)
        return _Saver(self, run)


class _Saver(Callback):
    def __init__(self, section: CheckpointMonitor, run: RunInfo):
        self._section = section
        self._run = run
        self._step = self._saved = run.first_step
        self._seconds = time.monotonic()
        self._is_complete = False

    def on_train_begin(self) -> None:
        """Count the seconds from here."""
        self._seconds = time.monotonic()

    def on_step_end(self, info: StepInfo) -> None:
        """Save where the interval says so."""
        self._step = info.step
        if self._is_due():
            self._save()

    def on_train_end(self) -> None:
        """Save the last step where the interval has not just done so."""
        if self._step > self._saved:
            self._save()
        self._is_complete = True

    def close(self) -> None:
        """Save what a run did that fails, where the section says so and the state is whole."""
        is_asked = self._section.exception_save and not self._is_complete and self._step > self._saved
        if is_asked and self._run.can_save_alone():
            try:
                self._run.save(self._section.keep_checkpoint_max, False)
            except OSError as error:
                # What made the run fail is worth more, and is told next.
                _log.error("exception_save: %s", error)

    def _is_due(self) -> bool:
        seconds = self._section.save_checkpoint_seconds
        if seconds == 0:
            return self._step % self._section.save_checkpoint_steps == 0
        # The clocks of processes differ, and all of them must save the same step.
        return self._run.agree(time.monotonic() - self._seconds >= seconds)

    def _save(self) -> None:
        section = self._section
        self._run.save(section.keep_checkpoint_max, section.async_save)
        if self._run.is_main and section.keep_checkpoint_per_n_minutes and not section.keep_checkpoint_max:
            mf_ckpt.thin(self._run.output.checkpoints, timedelta(minutes=section.keep_checkpoint_per_n_minutes))
        self._saved, self._seconds = self._step, time.monotonic()
