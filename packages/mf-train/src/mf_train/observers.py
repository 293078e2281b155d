"""Callbacks that keys of the run ask for, outside the list `callbacks`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mf_config import RunConfig
from mf_config.sections.observation import MonitorSection, TensorboardSection
from mf_train.callback import Callback, CallbackSection, RunInfo
from mf_train.callbacks.cold_hot_expert_monitor import ColdHotExpertMonitor
from mf_train.callbacks.profile_monitor import ProfileMonitor
from mf_train.records.own_numbers import OwnNumbers, Places, asks_for_figures, asks_for_numbers
from mf_train.records.tensorboard import TensorboardWriter

_GRADIENT_NORMS = MonitorSection(monitor_on=True, local_norm_format="log")
"""What `runner_wrapper.local_norm` asks for."""


def observers(config: RunConfig) -> Iterator[CallbackSection]:
    """The sections of the callbacks that keys stand for: `profile`, `tensorboard`, `monitor_config`, `local_norm`.

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
    monitor, events = config.monitor_config, config.tensorboard.tensorboard_dir
    if asks_for_numbers(monitor):
        yield _Monitor(monitor, Path(monitor.dump_path), Path(events) if events else None)
    if config.runner_wrapper.local_norm and not asks_for_numbers(monitor):
        yield _Monitor(_GRADIENT_NORMS, None, None)


def records_own_figures(config: RunConfig) -> bool:
    """Whether a callback asks for what only the training step of each process knows.

    Args:
        config: the run configuration.
    """
    return asks_for_figures(config.monitor_config) or config.runner_wrapper.local_norm


def records_expert_load(config: RunConfig) -> bool:
    """Whether anything asks for the load of experts, which the training step counts then.

    Args:
        config: the run configuration.
    """
    in_events = config.tensorboard.tensorboard_dir and config.tensorboard.log_expert_load_to_tensorboard
    return bool(in_events) or any(isinstance(section, ColdHotExpertMonitor) for section in config.callbacks)


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
        return TensorboardWriter(
            run,
            Path(section.tensorboard_dir),
            queue_size=section.tensorboard_queue_size,
            also=also,
            expert_load=section.log_expert_load_to_tensorboard,
        )


@dataclass(frozen=True, slots=True)
class _Monitor:
    """What to record of each process's own part, and where: folder of the file, and of event files if it is named."""

    section: MonitorSection
    dump: Path | None
    tensorboard: Path | None

    def build(self, run: RunInfo) -> Callback:
        """See `mf_train.callback.CallbackSection.build`."""
        return OwnNumbers(self.section, run, Places(self.dump, self.tensorboard or run.output.tensorboard))
