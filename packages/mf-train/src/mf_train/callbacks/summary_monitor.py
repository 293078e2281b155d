"""Summaries, as event files for TensorBoard."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mf_config.schema import component, key
from mf_train.callback import Callback, RunInfo
from mf_train.records.tensorboard import TensorboardWriter

_SCALARS = "event files hold scalars of the run alone"


@component("callback", "SummaryMonitor")
@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryMonitor:
    """Write losses, rates, norms and evaluations for TensorBoard, which MindInsight's summaries gave way to."""

    summary_dir: str | None = key("Folder of the event files; tensorboard in output_dir where absent.", None)
    collect_freq: int = key("Steps from one record to the next.", 10, minimum=1, unit="steps")
    collect_specified_data: dict[str, Any] | None = key("What to collect beside the usual.", None, inert=_SCALARS)
    keep_default_action: bool = key(
        "Collect the usual too where collect_specified_data names something.", True, inert=_SCALARS
    )
    custom_lineage_data: dict[str, Any] | None = key("Own numbers for the comparison of runs.", None, inert=_SCALARS)
    collect_tensor_freq: int | None = key(
        "Steps from one collection of tensors to the next.", None, minimum=0, inert=_SCALARS
    )
    max_file_size: int | None = key(
        "Largest size of a summary file.", None, minimum=1, unit="bytes", inert="a few bytes a step have no need of it"
    )
    export_options: dict[str, Any] | None = key("Which tensors to write to files as well.", None, inert=_SCALARS)

    def build(self, run: RunInfo) -> Callback:
        """See `mf_train.callback.CallbackSection.build`."""
        if not run.is_main:
            return Callback()
        folder = Path(self.summary_dir) if self.summary_dir else run.output.tensorboard
        return TensorboardWriter(run, folder, every=self.collect_freq, expert_load=True)
