"""What is recorded while a run goes on."""

from collections.abc import Iterator

from mf_config.problems import Severity
from mf_config.rules.rule import Checked, Finding, rule


@rule("recorded-steps", Severity.ERROR, "profile_start_step", "profile_stop_step")
def recorded_steps(checked: Checked) -> Iterator[Finding]:
    """The record of a profile ends after it begins."""
    config = checked.config
    if checked.trains and config.profile and config.profile_stop_step <= config.profile_start_step:
        what = f"{config.profile_stop_step} does not come after profile_start_step {config.profile_start_step}"
        yield Finding("profile_stop_step", what, f"above {config.profile_start_step}")


@rule("recorded-collectives", Severity.ERROR, "profile_communication", "init_start_profile")
def recorded_collectives(checked: Checked) -> Iterator[Finding]:
    """Collectives are recorded from the beginning of the program or not at all."""
    config = checked.config
    if checked.trains and config.profile and config.profile_communication and not config.init_start_profile:
        yield Finding("profile_communication", "True needs init_start_profile", "False, or init_start_profile: True")


@rule("profile-without-tuning", Severity.WARNING, "auto_tune", "profile")
def profile_without_tuning(checked: Checked) -> Iterator[Finding]:
    """A run that is profiled does not tune its workers at the same time."""
    if checked.config.profile and checked.config.auto_tune:
        yield Finding("auto_tune", "True counts as False while profile is on", "False")


_NORM_KEYS = ("global_norm_spike_threshold", "global_norm_spike_count_threshold")
_LOSS_KEYS = ("loss_spike_factor", "loss_spike_window", "loss_spike_count_threshold")


@rule(
    "spikes-to-look-for",
    Severity.NOTE,
    "monitor_config.global_norm_spike_threshold",
    "use_skip_data_by_global_norm",
    "monitor_config.loss_spike_factor",
)
def spikes_to_look_for(checked: Checked) -> Iterator[Finding]:
    """What a spike is says something only where spikes stop the run or are skipped."""
    config = checked.config
    monitor = config.monitor_config
    if not (checked.trains and monitor.monitor_on):
        return
    looked_for = (
        (
            _NORM_KEYS,
            monitor.check_for_global_norm or config.use_skip_data_by_global_norm,
            "check_for_global_norm and use_skip_data_by_global_norm",
        ),
        (_LOSS_KEYS, monitor.check_for_loss or monitor.skip_loss_spikes, "check_for_loss and skip_loss_spikes"),
    )
    for names, is_on, switches in looked_for:
        for name in names:
            if not is_on and checked.is_written(f"monitor_config.{name}"):
                yield Finding(f"monitor_config.{name}", f"says nothing while {switches} are off")


RULES = (recorded_steps, recorded_collectives, profile_without_tuning, spikes_to_look_for)
