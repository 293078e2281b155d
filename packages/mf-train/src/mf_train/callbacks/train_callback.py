"""A run that ends before its time."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.callback import Callback, RunInfo, StepInfo


@component("callback", "TrainCallBack")
@dataclass(frozen=True, slots=True, kw_only=True)
class TrainCallBack:
    """Stop training after some steps."""

    stop_step: int | None = key(
        "Steps, counted from the beginning of the run, after which it stops; its end where absent.",
        None,
        minimum=1,
        unit="steps",
    )

    def build(self, run: RunInfo) -> Callback:
        """See `mf_train.callback.CallbackSection.build`."""
        return Callback() if self.stop_step is None else _Stop(self.stop_step, run)


class _Stop(Callback):
    def __init__(self, stop_step: int, run: RunInfo):
        self._stop_step = stop_step
        self._run = run

    def on_train_begin(self) -> None:
        """Ask for the end at once where a former start came as far as this."""
        self._stop_from(self._run.first_step)

    def on_step_end(self, info: StepInfo) -> None:
        """Ask for the end where the step has come."""
        self._stop_from(info.step)

    def _stop_from(self, step: int) -> None:
        if step >= self._stop_step:
            self._run.stop(f"TrainCallBack.stop_step {self._stop_step}")
