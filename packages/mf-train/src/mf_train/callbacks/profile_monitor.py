"""Profiles of some steps."""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mf_config.schema import component, key
from mf_data.files import write_atomically
from mf_train.callback import Callback, RunInfo, StepInfo
from mf_train.records.json_lines import to_json
from mf_train.records.operator_times import OPERATORS, TRACE, as_records, by_kind, chrome_trace, table

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the profiler needs.
    from mf_train.records.operator_profiler import OperatorProfiler

_OPERATORS_ALONE = "operators alone are measured, collectives among them"

_SHOWN = 12
"""Rows of the table that the log shows; the file has all."""

_log = logging.getLogger(__name__)


@component("callback", "ProfileMonitor")
@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileMonitor:
    """Time the operators of some steps: a trace for chrome://tracing and a table of the hottest ones."""

    start_step: int = key("The first step to measure.", 1, minimum=1)
    stop_step: int = key("The last step to measure.", 10, minimum=1)
    output_path: str | None = key("Folder of the profile; profile in output_dir where absent.", None)
    start_profile: bool = key("Measure from the beginning of the run instead of start_step.", True)
    profile_communication: bool = key("Measure communication between devices as well.", False, inert=_OPERATORS_ALONE)
    profile_memory: bool = key("Measure memory as well.", True, inert=_OPERATORS_ALONE)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        if self.start_step > self.stop_step:
            yield "start_step", f"{self.start_step} is after stop_step {self.stop_step}", f"from 1 to {self.stop_step}"
        if self.profile_communication and not self.start_profile:
            yield "profile_communication", "True needs start_profile: True", "False, or start_profile: True"

    def build(self, run: RunInfo) -> Callback:
        """See `mf_train.callback.CallbackSection.build`."""
        return _Profile(self, run) if run.is_main else Callback()


class _Profile(Callback):
    def __init__(self, section: ProfileMonitor, run: RunInfo):
        self._first = 1 if section.start_profile else section.start_step
        self._last = section.stop_step
        self._folder = Path(section.output_path) if section.output_path else run.output.profile
        self._profiler: OperatorProfiler | None = None

    def on_step_begin(self, step: int) -> None:
        """Begin before the first step to measure."""
        if self._profiler is None and self._first <= step <= self._last:
            self._start()

    def on_step_end(self, info: StepInfo) -> None:
        """End after the last step to measure."""
        if self._profiler is not None and info.step >= self._last:
            self._finish(self._profiler)

    def close(self) -> None:
        """Keep what was measured where the run ends early."""
        if self._profiler is not None:
            self._finish(self._profiler)

    def _start(self) -> None:
        # On demand: the section is decoded without MindSpore.
        from mf_train.records.operator_profiler import OperatorProfiler

        self._profiler = OperatorProfiler()

    def _finish(self, profiler: "OperatorProfiler") -> None:
        self._profiler = None
        executions = profiler.stop()
        rows = by_kind(executions)
        write_atomically(self._folder / TRACE, json.dumps(chrome_trace(executions)).encode())
        lines = (to_json(row) + "\n" for row in as_records(rows))
        write_atomically(self._folder / OPERATORS, "".join(lines).encode())
        _log.info("profile in %s; the hottest operators:\n%s", self._folder, table(rows, _SHOWN))
