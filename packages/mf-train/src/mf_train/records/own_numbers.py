"""`monitor_config`: losses and norms of one process's own part of a run, in the log, for TensorBoard and in a file."""

import logging
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mf_config.sections.observation import MonitorSection
from mf_train.callback import Callback, RunInfo, StepInfo
from mf_train.records.json_lines import append_line, keep_lines_until
from mf_train.records.tensorboard import ScalarWriter

if TYPE_CHECKING:
    # Callbacks are declared without MindSpore, which holds a process's part.
    from mindspore import Parameter

    from mf_train.own_part import OwnPart

_LOG, _TENSORBOARD = "log", "tensorboard"

Numbers = dict[str, float]

Asked = tuple[str, ...] | str | None
"""A key that says where numbers go: one place, several, or none."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Places:
    """Where numbers go.

    Attributes:
        dump: folder of the file `rank_N.jsonl`, which has all of them; None for no file.
        tensorboard: folder of event files, for those that are asked for there.
    """

    dump: Path | None
    tensorboard: Path


class OwnNumbers(Callback):
    """Records what a process alone knows, at intervals; every process of a run does so for itself."""

    def __init__(self, section: MonitorSection, run: RunInfo, places: Places):
        """Takes what to record, the run, and where it goes; writes nothing yet."""
        self._section = section
        self._run = run
        self._places = places
        self._forms = {kind: _forms(asked(section)) for kind, (asked, _) in _KINDS.items()}
        if section.throughput_baseline is not None:
            self._forms["throughput"] = (_LOG, _TENSORBOARD)
        self._events: ScalarWriter | None = None

    def on_train_begin(self) -> None:
        """Open the files; where only the parameters are asked for, show them and stop."""
        part = self._run.own_part()
        if self._section.print_struct:
            lines = (f"{name} {tuple(weight.shape)} {weight.dtype}" for name, weight in part.weights.items())
            _log.info("the parameters of process %d:\n%s", part.rank, "\n".join(lines))
            self._run.stop("monitor_config.print_struct")
        if part.figures is None and any(self._forms.get(kind) for kind in _OF_FIGURES):
            _log.warning("monitor_config: MindSpore divides the work, so no process knows its own loss and gradients")
        if any(_TENSORBOARD in forms for forms in self._forms.values()):
            folder = self._places.tensorboard / f"rank_{part.rank}"
            self._events = ScalarWriter(folder, purge_step=self._run.first_step + 1)
        if self._places.dump is not None:
            keep_lines_until(_dump(self._places.dump, part), self._run.first_step)

    def on_step_end(self, info: StepInfo) -> None:
        """Record the numbers of the step, where its turn has come."""
        if info.step % self._section.step_interval:
            return
        part, found = self._run.own_part(), {}
        for kind, forms in self._forms.items():
            numbers = self._numbers(kind, part, info) if forms else {}
            if numbers:
                found[kind] = numbers
                self._tell(kind, forms, numbers, info.step)
        if found and self._places.dump is not None:
            self._places.dump.mkdir(parents=True, exist_ok=True)
            append_line(_dump(self._places.dump, part), {"step": info.step, **found})

    def close(self) -> None:
        """Write what still waits."""
        if self._events is not None:
            self._events.close()

    def _numbers(self, kind: str, part: "OwnPart", info: StepInfo) -> Numbers:
        """Numbers of one kind by the parameters they are of; one without such a name stands under its kind's."""
        if kind == "throughput":
            assert self._section.throughput_baseline is not None
            return {kind: part.rows / info.seconds / self._section.throughput_baseline}
        _, numbers_of = _KINDS[kind]
        numbers = numbers_of(part)
        return numbers if kind in numbers else {name: one for name, one in numbers.items() if self._is_target(name)}

    def _is_target(self, name: str) -> bool:
        """Whether a parameter is one of those to record."""
        return any(re.search(pattern, name) for pattern in self._section.target) != self._section.invert

    def _tell(self, kind: str, forms: tuple[str, ...], numbers: Numbers, step: int) -> None:
        for name, number in numbers.items():
            tag = kind if name == kind else f"{kind}/{name}"
            if _LOG in forms:
                _log.info("step %d: %s %.6g", step, tag, number)
            if _TENSORBOARD in forms and self._events is not None:
                self._events.add(tag, number, step)


def _forms(asked: Asked) -> tuple[str, ...]:
    return (asked,) if isinstance(asked, str) else asked or ()


def _dump(folder: Path, part: "OwnPart") -> Path:
    return folder / f"rank_{part.rank}.jsonl"


def _own_loss(kind: str) -> Callable[["OwnPart"], Numbers]:
    def loss_of(part: "OwnPart") -> Numbers:
        loss = None if part.figures is None else part.figures.loss
        return {} if loss is None else {kind: loss}

    return loss_of


def _gradient_norms(part: "OwnPart") -> Numbers:
    return {} if part.figures is None else part.figures.gradient_norms


def _norm_of_all_gradients(part: "OwnPart") -> Numbers:
    return {"device_local_norm": math.hypot(*_gradient_norms(part).values())} if part.figures is not None else {}


def _state_norms(part: "OwnPart") -> Numbers:
    slots = part.slots.items()
    return {f"{slot}.{name}": value for slot, tensors in slots for name, value in _norms(tensors).items()}


def _weight_norms(part: "OwnPart") -> Numbers:
    return _norms(part.weights)


def _norms(tensors: Mapping[str, "Parameter"]) -> Numbers:
    return {name: float(np.linalg.norm(one.float().asnumpy())) for name, one in tensors.items()}


_KINDS: Mapping[str, tuple[Callable[[MonitorSection], Asked], Callable[["OwnPart"], Numbers]]] = {
    "local_loss": (lambda section: section.local_loss_format, _own_loss("local_loss")),
    "device_local_loss": (lambda section: section.device_local_loss_format, _own_loss("device_local_loss")),
    "local_norm": (lambda section: section.local_norm_format, _gradient_norms),
    "device_local_norm": (lambda section: section.device_local_norm_format, _norm_of_all_gradients),
    "optimizer_state": (lambda section: section.optimizer_state_format, _state_norms),
    "weight_state": (lambda section: section.weight_state_format, _weight_norms),
}
"""Name of each kind of numbers to what is asked of it, and where they come from."""

_OF_FIGURES = ("local_loss", "device_local_loss", "local_norm", "device_local_norm")


def asks_for_figures(section: MonitorSection) -> bool:
    """Whether anything is recorded that only the training step knows."""
    return section.monitor_on and any(_forms(_KINDS[kind][0](section)) for kind in _OF_FIGURES)


def asks_for_numbers(section: MonitorSection) -> bool:
    """Whether anything at all is recorded or shown."""
    recorded = any(_forms(asked(section)) for asked, _ in _KINDS.values())
    return section.monitor_on and bool(section.print_struct or section.throughput_baseline or recorded)
