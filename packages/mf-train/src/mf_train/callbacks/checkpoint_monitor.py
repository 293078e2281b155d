"""Checkpoints at intervals and at the end."""

import time
from dataclasses import dataclass
from typing import Any

from mf_config.schema import component, key
from mf_train.callback import Callback, RunInfo, StepInfo


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
        "Keep one checkpoint for each such span of time, instead of the newest.",
        0,
        minimum=0,
        unit="minutes",
        inert="the newest ones are kept, as many as keep_checkpoint_max says",
    )
    save_trainable_params: bool = key(
        "Save the trainable weights in a file of their own as well.",
        False,
        inert="the weights that are trained beside others have files of their own in any case",
    )
    exception_save: bool = key(
        "Save once more where training fails.",
        False,
        inert="a step that failed may leave weights half changed; a signal saves, and what was saved before stays",
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
        return _Saver(self, run)


class _Saver(Callback):
    def __init__(self, section: CheckpointMonitor, run: RunInfo):
        self._section = section
        self._run = run
        self._step = self._saved = run.first_step
        self._seconds = time.monotonic()

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

    def _is_due(self) -> bool:
        seconds = self._section.save_checkpoint_seconds
        if seconds == 0:
            return self._step % self._section.save_checkpoint_steps == 0
        # The clocks of processes differ, and all of them must save the same step.
        return self._run.agree(time.monotonic() - self._seconds >= seconds)

    def _save(self) -> None:
        self._run.save(self._section.keep_checkpoint_max, self._section.async_save)
        self._saved, self._seconds = self._step, time.monotonic()
