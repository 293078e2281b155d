"""One log line a step."""

import logging
from dataclasses import dataclass
from datetime import timedelta

from mf_config.schema import component, key
from mf_train.callback import Callback, RunInfo, StepInfo

_OF_THE_RUN = "the run itself says it"

_log = logging.getLogger(__name__)


@component("callback", "MFLossMonitor")
@dataclass(frozen=True, slots=True, kw_only=True)
class MFLossMonitor:
    """Log loss, learning rate, speed with the model FLOPs utilization (MFU), and time left."""

    per_print_times: int = key("Steps from one line to the next.", 1, minimum=1, unit="steps")
    learning_rate: float | None = key("The rate to log.", None, inert=_OF_THE_RUN)
    micro_batch_num: int = key("Micro-batches of a step.", 1, minimum=1, inert=_OF_THE_RUN)
    micro_batch_interleave_num: int = key("Parts of a batch that overlap.", 1, minimum=1, inert=_OF_THE_RUN)
    origin_epochs: int | None = key("Epochs of the run.", None, minimum=1, inert=_OF_THE_RUN)
    dataset_size: int | None = key("Steps of an epoch.", None, minimum=1, inert=_OF_THE_RUN)
    initial_epoch: int = key("Epochs done before this start.", 0, minimum=0, inert=_OF_THE_RUN)
    initial_step: int = key("Steps done before this start.", 0, minimum=0, inert=_OF_THE_RUN)
    global_batch_size: int = key("Rows of a step.", 0, minimum=0, inert=_OF_THE_RUN)
    gradient_accumulation_steps: int = key("Micro-batches before an update.", 1, minimum=1, inert=_OF_THE_RUN)

    def build(self, run: RunInfo) -> Callback:
        """See `mf_train.callback.CallbackSection.build`."""
        return _LossLog(self.per_print_times, run)


class _LossLog(Callback):
    def __init__(self, interval: int, run: RunInfo):
        self._interval = interval
        self._run = run

    def on_step_end(self, info: StepInfo) -> None:
        """Log every `interval` steps and the last one."""
        if self._run.is_main and (info.step % self._interval == 0 or info.step == info.total_steps):
            _log.info(line_of(info, self._run.total_epochs))


def line_of(info: StepInfo, total_epochs: int) -> str:
    """A step in one line, in the order of MindFormers' own log line."""
    utilization = "" if info.utilization is None else f", MFU {info.utilization:.1%}"
    return (
        f"Epoch:[{info.epoch:3d}/{total_epochs:3d}], step:[{info.step:5d}/{info.total_steps:5d}], "
        f"loss: {info.loss:.4f}, per_step_time: {info.seconds * 1000:.0f}ms, lr: {info.lr:.3e}, "
        f"overflow cond: {info.overflow}, loss_scale: {info.loss_scale:g}, global_norm: {info.grad_norm:.4f}, "
        f"{info.tokens_per_second:,.0f} tokens/s{utilization}, {timedelta(seconds=round(info.seconds_left))} left"
    )
