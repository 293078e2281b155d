"""Rows of texts with a class each."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_data.datasets.base import TaskKeys


@component("dataset", "TextClassificationDataset", pending="there is no classification")
@dataclass(frozen=True, slots=True, kw_only=True)
class TextClassificationDataset(TaskKeys):
    """Rows of ids with the number of a class."""
