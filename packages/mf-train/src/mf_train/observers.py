"""Callbacks that keys of the run ask for, outside the list `callbacks`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mf_config import RunConfig
from mf_config.sections.observation import TensorboardSection
from mf_train.callback import Callback, CallbackSection, RunInfo
from mf_train.callbacks.profile_monitor import ProfileMonitor
from mf_train.records.tensorboard import TensorboardWriter


def observers(config: RunConfig) -> Iterator[CallbackSection]:
    """The sections of the callbacks that `profile` and `tensorboard` stand for.

    Args:
        config: the run configuration.
    """
    if config.profile:
        yield ProfileMonitor(
            start_step=config.profile_start_step,
            stop_step=config.profile_stop_step,
            output_path=config.profile_output,
            start_profile=config.init_start_profile,
        )
    if config.tensorboard.tensorboard_dir:
        yield _Tensorboard(config.tensorboard)


@dataclass(frozen=True, slots=True)
class _Tensorboard:
    """The section `tensorboard` as one of a callback."""

    section: TensorboardSection

    def build(self, run: RunInfo) -> Callback:
        """See `mf_train.callback.CallbackSection.build`."""
        if not run.is_main:
            return Callback()
        section = self.section
        asked = {"loss_scale": section.log_loss_scale_to_tensorboard, "seconds": section.log_timers_to_tensorboard}
        also = tuple(name for name, wanted in asked.items() if wanted)
        folder = Path(section.tensorboard_dir)
        return TensorboardWriter(run, folder, queue_size=section.tensorboard_queue_size, also=also)
