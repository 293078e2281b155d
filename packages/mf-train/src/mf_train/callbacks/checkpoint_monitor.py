"""Checkpoints at intervals and at the end."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.callback import Callback, RunInfo, StepInfo


@component("callback", "CheckpointMonitor")
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointMonitor:
    """Save the whole state of the run; a checkpoint is complete or it is not one."""

    save_checkpoint_steps: int = key("Steps from one checkpoint to the next.", 1, minimum=1)
    keep_checkpoint_max: int = key("Complete checkpoints to keep, newest first; 0 keeps all.", 5, minimum=0)
    prefix: str = key("Beginning of file names.", "CKP", inert="checkpoints are folders named after their step")
    integrated_save: bool = key(
        "Gather sliced parameters before saving.", True, inert="a checkpoint is whole, with its layout beside it"
    )

    def build(self, run: RunInfo) -> Callback:
        """See `mf_train.callback.CallbackSection.build`."""
        return _Saver(self, run)


class _Saver(Callback):
    def __init__(self, section: CheckpointMonitor, run: RunInfo):
        self._section = section
        self._run = run
        self._step = self._saved = run.first_step

    def on_step_end(self, info: StepInfo) -> None:
        """Save where the interval says so."""
        self._step = info.step
        if info.step % self._section.save_checkpoint_steps == 0:
            self._save()

    def on_train_end(self) -> None:
        """Save the last step where the interval has not just done so."""
        if self._step > self._saved:
            self._save()

    def _save(self) -> None:
        self._run.save(self._section.keep_checkpoint_max)
        self._saved = self._step
