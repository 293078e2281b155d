"""Rows of texts with hidden tokens."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_data.datasets.base import TaskKeys


@component("dataset", "MaskLanguageModelDataset", pending="there is no masked language modelling")
@dataclass(frozen=True, slots=True, kw_only=True)
class MaskLanguageModelDataset(TaskKeys):
    """Rows of ids some of which are masked, with what stood there."""
