"""Summaries for MindInsight."""

from dataclasses import dataclass
from typing import Any

from mf_config.schema import component, key
from mf_train.callbacks.no_effect import NoEffect


@component("callback", "SummaryMonitor", inert="no summaries are collected; metrics.jsonl has the numbers of each step")
@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryMonitor(NoEffect):
    """Collect losses, gradients and graphs for MindInsight."""

    summary_dir: str | None = key("Folder of the summaries; summary in output_dir where absent.", None)
    collect_freq: int = key("Steps from one collection to the next.", 10, minimum=1, unit="steps")
    collect_specified_data: dict[str, Any] | None = key("What to collect beside the usual.", None)
    keep_default_action: bool = key("Collect the usual too where collect_specified_data names something.", True)
    custom_lineage_data: dict[str, Any] | None = key("Own numbers for the comparison of runs.", None)
    collect_tensor_freq: int | None = key("Steps from one collection of tensors to the next.", None, minimum=0)
    max_file_size: int | None = key("Largest size of a summary file.", None, minimum=1, unit="bytes")
    export_options: dict[str, Any] | None = key("Which tensors to write to files as well.", None)
