"""`monitor_config` and `tensorboard`: what is recorded of a run, and where."""

from dataclasses import dataclass
from typing import Literal

from mf_config.schema import key

_IN_METRICS = "metrics.jsonl has the global norm of each step"

_Form = Literal["log", "tensorboard"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorSection:
    """Norms and states that are recorded while training."""

    monitor_on: bool = key("Whether anything of this section is done.", False)
    dump_path: str = key("Folder of the recorded values.", "./dump", needs="monitor_on", inert=_IN_METRICS)
    target: tuple[str, ...] = key(
        "Patterns of the parameters to record.", (".*",), needs="monitor_on", inert=_IN_METRICS
    )
    invert: bool = key("Record all parameters but these.", False, needs="monitor_on", inert=_IN_METRICS)
    step_interval: int = key(
        "Steps between records.", 1, minimum=1, unit="steps", needs="monitor_on", inert=_IN_METRICS
    )
    local_loss_format: tuple[_Form, ...] | _Form | None = key(
        "Where each rank's loss goes.", None, needs="monitor_on", inert=_IN_METRICS
    )
    device_local_loss_format: tuple[_Form, ...] | _Form | None = key(
        "Where each device's loss goes.", None, needs="monitor_on", inert=_IN_METRICS
    )
    local_norm_format: tuple[_Form, ...] | _Form | None = key(
        "Where the norm of each gradient goes.", None, needs="monitor_on", inert=_IN_METRICS
    )
    device_local_norm_format: tuple[_Form, ...] | _Form | None = key(
        "Where each device's norm goes.", None, needs="monitor_on", inert=_IN_METRICS
    )
    optimizer_state_format: tuple[_Form, ...] | _Form | None = key(
        "Where norms of the optimizer state go.", None, needs="monitor_on", inert=_IN_METRICS
    )
    weight_state_format: tuple[_Form, ...] | _Form | None = key(
        "Where norms of the weights go.", None, needs="monitor_on", inert=_IN_METRICS
    )
    throughput_baseline: float | None = key(
        "Expected speed, for a relative figure.", None, above=0, needs="monitor_on", inert=_IN_METRICS
    )
    print_struct: bool = key("Print the network's parameters and stop.", False, needs="monitor_on", inert=_IN_METRICS)
    check_for_global_norm: bool = key("Stop at spikes of the global norm.", False, needs="monitor_on")
    global_norm_spike_threshold: float = key(
        "Global norm that counts as a spike, with check_for_global_norm or use_skip_data_by_global_norm.",
        3.0,
        above=0,
        needs="monitor_on",
    )
    global_norm_spike_count_threshold: int = key(
        "Spikes in a row that stop the run, with either of the two.", 10, minimum=1, needs="monitor_on"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorboardSection:
    """Event files for TensorBoard."""

    tensorboard_dir: str = key("Folder of the event files; none are written where it is empty.", "")
    tensorboard_queue_size: int = key(
        "Values that wait before they are written.", 10, minimum=1, needs="tensorboard_dir"
    )
    log_loss_scale_to_tensorboard: bool = key("Record the loss scale.", False, needs="tensorboard_dir")
    log_timers_to_tensorboard: bool = key("Record how long each step takes.", False, needs="tensorboard_dir")
    log_expert_load_to_tensorboard: bool = key(
        "Record the load of experts.", False, needs="tensorboard_dir", inert="the load of experts is not counted"
    )
