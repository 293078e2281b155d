"""Profiles of some steps."""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.callbacks.no_effect import NoEffect


@component("callback", "ProfileMonitor", inert="no profile is collected")
@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileMonitor(NoEffect):
    """Measure the operators of some steps with MindSpore's profiler."""

    start_step: int = key("The first step to measure.", 1, minimum=1)
    stop_step: int = key("The last step to measure.", 10, minimum=1)
    output_path: str | None = key("Folder of the profile; profile in output_dir where absent.", None)
    start_profile: bool = key("Measure from the beginning of the run instead of start_step.", True)
    profile_communication: bool = key("Measure communication between devices as well.", False)
    profile_memory: bool = key("Measure memory as well.", True)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        if self.start_step > self.stop_step:
            yield "start_step", f"{self.start_step} is after stop_step {self.stop_step}", f"from 1 to {self.stop_step}"
        if self.profile_communication and not self.start_profile:
            yield "profile_communication", "True needs start_profile: True", "False, or start_profile: True"
