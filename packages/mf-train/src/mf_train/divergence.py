"""Which steps change nothing, and when a run gives up: nothing changes any more, or numbers spike again and again."""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import numpy as np

from mf_config import RunConfig

_NO_WINDOW: deque[float] = deque(maxlen=0)


@dataclass(slots=True)
class DivergenceGuard:
    """Counts the steps that went wrong, and says when there are too many.

    Attributes:
        most_stuck: overflows in a row at the smallest loss scale, after which a run is taken to be beyond recovery.
        norm_spike: global norm of the gradients that counts as a spike; infinite for no limit.
        most_norm_spikes: such spikes in a row that end the run.
        loss_factor: a loss of this times the mean of those before is a spike; None for no limit.
        most_loss_spikes: such spikes in a row that end the run; None where they don't.
        losses: those before; none is a spike until there are as many as it holds.
        norm_spikes: spikes of the norm in a row so far.
        loss_spikes: spikes of the loss in a row so far.

    Source of the check for the norm: MindFormers 1.5, core/callback/callback.py.
    """

    most_stuck: int = 10
    norm_spike: float = math.inf
    most_norm_spikes: int = 1
    loss_factor: float | None = None
    most_loss_spikes: int = 1
    losses: deque[float] = field(default_factory=_NO_WINDOW.copy)
    norm_spikes: int = 0
    loss_spikes: int = 0

    @classmethod
    def of(cls, config: RunConfig) -> "DivergenceGuard":
        """The guard that `monitor_config` and `use_skip_data_by_global_norm` ask for."""
        section = config.monitor_config
        guard = cls(section.not_finite_count_threshold)
        if section.monitor_on and (section.check_for_global_norm or config.use_skip_data_by_global_norm):
            guard.norm_spike = section.global_norm_spike_threshold
            guard.most_norm_spikes = section.global_norm_spike_count_threshold
        if section.monitor_on and (section.check_for_loss or section.skip_loss_spikes):
            guard.loss_factor = section.loss_spike_factor
            guard.most_loss_spikes = section.loss_spike_count_threshold
            guard.losses = deque(maxlen=section.loss_spike_window)
        return guard

    @property
    def loss_spike(self) -> float:
        """The loss that counts as a spike in the next step; infinite where none does."""
        if self.loss_factor is None or len(self.losses) != self.losses.maxlen:
            return math.inf
        # As the training step compares.
        return float(np.float32(self.loss_factor * fmean(self.losses)))

    def verdict(self, loss: float, grad_norm: float, overflow: bool, stuck: int) -> str:
        """Take note of one step.

        Args:
            loss: its mean loss.
            grad_norm: global norm of its gradients before clipping.
            overflow: whether they were not finite; such a step is no spike and interrupts no row of them, because a
                loss scale that is too high causes it.
            stuck: overflows in a row that could not lower the loss scale.
        Returns:
            Why the run must end; empty where it may go on.
        """
        if stuck >= self.most_stuck:
            what = f"the gradients were not finite in {self.most_stuck} steps in a row"
            return f"{what}, and the loss scale can't go lower"
        if overflow:
            return ""
        # Both take note, whatever the other one says.
        said = [self._verdict_on_norm(grad_norm), self._verdict_on_loss(loss)]
        return "; ".join(filter(None, said))

    def _verdict_on_norm(self, grad_norm: float) -> str:
        self.norm_spikes = self.norm_spikes + 1 if grad_norm >= self.norm_spike else 0
        if self.norm_spikes < self.most_norm_spikes:
            return ""
        return (
            f"the global norm of the gradients, now {grad_norm:.4g}, was at or above "
            f"monitor_config.global_norm_spike_threshold {self.norm_spike:g} in {self.norm_spikes} steps in a row"
        )

    def _verdict_on_loss(self, loss: float) -> str:
        limit = self.loss_spike
        if loss < limit:
            self.loss_spikes = 0
            self.losses.append(loss)
            return ""
        self.loss_spikes += 1
        if self.loss_spikes < self.most_loss_spikes:
            return ""
        return (
            f"the loss, now {loss:.4g}, was at or above {limit:.4g}, monitor_config.loss_spike_factor "
            f"{self.loss_factor:g} times the mean of the {len(self.losses)} before, "
            f"in {self.loss_spikes} steps in a row"
        )

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps, so that a resumed run judges as the same run without a break."""
        return {"losses": list(self.losses), "norm_spikes": self.norm_spikes, "loss_spikes": self.loss_spikes}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where a checkpoint's run was; with a smaller window by the last losses alone.

        Args:
            state: from `state`.
        """
        self.losses.extend(state["losses"])
        self.norm_spikes, self.loss_spikes = state["norm_spikes"], state["loss_spikes"]


def skipped_norm(config: RunConfig) -> float:
    """The global norm of the gradients from which on a step changes nothing; infinite where none is a spike.

    Args:
        config: the run configuration.
    """
    section = config.monitor_config
    skips = section.monitor_on and config.use_skip_data_by_global_norm
    return section.global_norm_spike_threshold if skips else math.inf


def skips_loss_spikes(config: RunConfig) -> bool:
    """Whether a step whose loss is a spike changes nothing.

    Args:
        config: the run configuration.
    """
    return config.monitor_config.monitor_on and config.monitor_config.skip_loss_spikes
