"""`monitor_config` and `tensorboard`: what is recorded of a run, and where."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mf_config.schema import key

_Form = Literal["log", "tensorboard"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorSection:
    """Norms and states that are recorded while training."""

    monitor_on: bool = key("Whether anything of this section is done.", False)
    dump_path: str = key(
        "Folder of a file of JSON lines a process, rank_N.jsonl, with all that is recorded.",
        "./dump",
        needs="monitor_on",
    )
    target: tuple[str, ...] = key(
        "Regular expressions; of norms those are recorded whose parameter's name one of them finds something in.",
        (".*",),
        needs="monitor_on",
    )
    invert: bool = key("Record the norms of all parameters but these.", False, needs="monitor_on")
    step_interval: int = key("Steps between records.", 1, minimum=1, unit="steps", needs="monitor_on")
    local_loss_format: tuple[_Form, ...] | _Form | None = key(
        "Where the mean loss of each process's own rows goes.", None, needs="monitor_on"
    )
    device_local_loss_format: tuple[_Form, ...] | _Form | None = key(
        "Where each device's loss goes; a process has one device.", None, needs="monitor_on"
    )
    local_norm_format: tuple[_Form, ...] | _Form | None = key(
        "Where the norm of each gradient goes, as each process holds it before clipping.", None, needs="monitor_on"
    )
    device_local_norm_format: tuple[_Form, ...] | _Form | None = key(
        "Where the norm of all gradients that a process holds goes.", None, needs="monitor_on"
    )
    optimizer_state_format: tuple[_Form, ...] | _Form | None = key(
        "Where the norms of the optimizer state that a process holds go.", None, needs="monitor_on"
    )
    weight_state_format: tuple[_Form, ...] | _Form | None = key(
        "Where the norms of the weights that a process holds go.", None, needs="monitor_on"
    )
    throughput_baseline: float | None = key(
        "Expected rows a second of each process; what is reached of it is logged, and recorded for TensorBoard.",
        None,
        above=0,
        needs="monitor_on",
    )
    print_struct: bool = key("Log the network's parameters and stop.", False, needs="monitor_on")
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
    check_for_loss: bool = key("Stop at spikes of the loss.", False, needs="monitor_on")
    skip_loss_spikes: bool = key("Leave out the updates of steps whose loss is a spike.", False, needs="monitor_on")
    loss_spike_factor: float = key(
        "A loss of at least so many times the mean of those before is a spike, with check_for_loss or "
        "skip_loss_spikes; spikes are no part of the mean.",
        2.0,
        above=1,
        needs="monitor_on",
    )
    loss_spike_window: int = key(
        "Steps before that the mean is of; no loss is a spike until there are so many.",
        100,
        minimum=1,
        unit="steps",
        needs="monitor_on",
    )
    loss_spike_count_threshold: int = key(
        "Spikes of the loss in a row that stop the run, with either of the two.", 10, minimum=1, needs="monitor_on"
    )
    not_finite_count_threshold: int = key(
        "Steps in a row without finite gradients, at a loss scale that can't go lower, that stop the run.",
        10,
        minimum=1,
        unit="steps",
    )

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What is wrong: key name, what, what is allowed."""
        for pattern in self.target:
            try:
                re.compile(pattern)
            except re.error as error:
                yield "target", f"{pattern!r} is no regular expression: {error}", "regular expressions"


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
        "Record, for each block with experts, the largest and the least share of the choices of all tokens that fell "
        "on one of them, over an even share.",
        False,
        needs="tensorboard_dir",
    )
