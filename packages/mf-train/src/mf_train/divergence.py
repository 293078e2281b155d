"""Which steps change nothing, and when a run gives up: nothing changes any more, or gradients spike again and again."""

import math
from dataclasses import dataclass

from mf_config import RunConfig

_MOST_STUCK_STEPS = 10
"""Overflows in a row at the smallest loss scale, after which a run is taken to be beyond recovery."""


@dataclass(slots=True)
class DivergenceGuard:
    """Counts the steps that went wrong, and says when there are too many.

    Attributes:
        spike: global norm of the gradients that counts as a spike; None for no limit.
        most_spikes: spikes in a row that end the run.
        spikes: those so far.

    Source: MindFormers 1.5, core/callback/callback.py, the check for the global norm.
    """

    spike: float | None = None
    most_spikes: int = 1
    spikes: int = 0

    @classmethod
    def of(cls, config: RunConfig) -> "DivergenceGuard":
        """The guard that `monitor_config` and `use_skip_data_by_global_norm` ask for."""
        section = config.monitor_config
        if not (section.monitor_on and (section.check_for_global_norm or config.use_skip_data_by_global_norm)):
            return cls()
        return cls(section.global_norm_spike_threshold, section.global_norm_spike_count_threshold)

    def verdict(self, grad_norm: float, overflow: bool, stuck: int) -> str:
        """Take note of one step.

        Args:
            grad_norm: global norm of its gradients before clipping.
            overflow: whether they were not finite; such a step is no spike and interrupts no row of them, because a
                loss scale that is too high causes it.
            stuck: overflows in a row that could not lower the loss scale.
        Returns:
            Why the run must end; empty where it may go on.
        """
        if stuck >= _MOST_STUCK_STEPS:
            what = f"the gradients were not finite in {_MOST_STUCK_STEPS} steps in a row"
            return f"{what}, and the loss scale can't go lower"
        if self.spike is None or overflow:
            return ""
        self.spikes = self.spikes + 1 if grad_norm >= self.spike else 0
        if self.spikes < self.most_spikes:
            return ""
        return (
            f"the global norm of the gradients, now {grad_norm:.4g}, was at or above "
            f"monitor_config.global_norm_spike_threshold {self.spike:g} in {self.spikes} steps in a row"
        )


def skipped_norm(config: RunConfig) -> float:
    """The global norm of the gradients from which on a step changes nothing; infinite where none is a spike.

    Args:
        config: the run configuration.
    """
    section = config.monitor_config
    skips = section.monitor_on and config.use_skip_data_by_global_norm
    return section.global_norm_spike_threshold if skips else math.inf
