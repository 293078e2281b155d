"""MindSpore's profiler of the operators on a host."""

import tempfile
from pathlib import Path

from mindspore.profiler import ProfilerActivity, profile, tensorboard_trace_handler

from mf_train.records.operator_times import Execution, read_executions


class OperatorProfiler:
    """Measures every operator from its making to `stop`."""

    def __init__(self) -> None:
        """Starts at once."""
        self._raw = tempfile.TemporaryDirectory(prefix="mf-profile-")
        keep_raw = tensorboard_trace_handler(self._raw.name, analyse_flag=False)
        self._profiler = profile(activities=[ProfilerActivity.CPU], on_trace_ready=keep_raw)

    def stop(self) -> list[Execution]:
        """End, once; what was executed, in the order of the starts."""
        with self._raw:
            self._profiler.stop()
            return read_executions(Path(self._raw.name))
