"""Rows of sentences in two languages."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_data.datasets.base import TaskKeys


@component("dataset", "TranslationDataset", pending="there are no encoder-decoder models")
@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationDataset(TaskKeys):
    """Rows of a source and of a target sentence."""
