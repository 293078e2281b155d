"""The learning rates of a run: a function of the number of updates."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from mf_config import RunConfig
from mf_train.data import RunData, demanded
from mf_train.schedule import LearningRate, WarmUp
from mf_train.step.rate_kinds import RateKind, RateKinds, Rates, rate_kinds


class RunRates:
    """What the schedules of a run configuration make of its number of updates."""

    def __init__(self, config: RunConfig, data: RunData):
        """Takes the run configuration, and what the run reads: it has the number of updates and of rows."""
        self._config = config
        self._data = data

    def kinds(self, names: Sequence[str]) -> RateKinds:
        """The learning rate of each parameter.

        Args:
            names: the parameters of the whole network, in its order.
        """
        config = self._config
        decay = config.layer_decay if config.layer_scale else 1.0
        groups = [group.params for group in self._groups]
        return rate_kinds(names, config.model.model_config.num_layers, decay, groups)

    def rate(self, update: int, schedule: int = 0) -> float:
        """Rate of an update, counted from 0; with `lr_scale` in proportion to the rows of a step over all ranks.

        Args:
            update: updates already applied.
            schedule: 0 for that of the run, else the number of a group from 1.
        """
        config, source = self._config, self._sources[schedule]
        total = self._data.training.steps_per_epoch * config.runner_config.epochs
        rate = source.rate(update, total) if isinstance(source, LearningRate) else source.learning_rate
        if config.lr_scale:
            rate *= self._data.rows_per_step / config.lr_scale_factor
        return float(rate)

    def rates(self, update: int, kinds: Sequence[RateKind]) -> Rates:
        """What a training step takes: the rate, or where there are several kinds of parameters, that of each."""
        first, *others = [self.rate(update, kind.schedule) * kind.factor for kind in kinds]
        return (first, *others) if others else first

    @property
    def _groups(self) -> tuple[Any, ...]:
        """The schedules of groups of parameters."""
        section = self._config.grouped_lr_schedule
        return () if section is None else section.grouped

    @cached_property
    def _sources(self) -> list[Any]:
        """What says the rates: the schedule, else the optimizer, by itself or by a constant; and that of each group."""
        updates = self._data.training.steps_per_epoch
        sources = [self._config.lr_schedule or demanded(self._config.optimizer), *self._groups]
        return [source.with_epochs_of(updates) if isinstance(source, WarmUp) else source for source in sources]
