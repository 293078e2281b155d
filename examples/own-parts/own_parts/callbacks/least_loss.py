"""Keeps the least loss of a run."""

import json
from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.callback import Callback, RunInfo, StepInfo


@component("callback", "LeastLoss")
@dataclass(frozen=True, slots=True, kw_only=True)
class LeastLoss:
    """Writes the least loss and its step to a file of output_dir when training ends."""

    file_name: str = key("Name of the file.", "least_loss.json")

    def build(self, run: RunInfo) -> Callback:
        """The callback of one run."""
        return _Keeper(self, run)


class _Keeper(Callback):
    def __init__(self, section: LeastLoss, run: RunInfo):
        self._section, self._run = section, run
        self._least: tuple[float, int] | None = None

    def on_step_end(self, info: StepInfo) -> None:
        """Compare."""
        now = (info.loss, info.step)
        self._least = now if self._least is None else min(self._least, now)

    def on_train_end(self) -> None:
        """Write."""
        if self._run.is_main and self._least is not None:
            loss, step = self._least
            file = self._run.output.root / self._section.file_name
            file.write_text(json.dumps({"loss": loss, "step": step}), encoding="utf-8")
