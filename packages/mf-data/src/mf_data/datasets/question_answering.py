"""Rows of questions about a text."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_data.datasets.base import TaskKeys


@component("dataset", "QuestionAnsweringDataset", pending="there is no answering by spans")
@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnsweringDataset(TaskKeys):
    """Rows of a question and a text, with the span of the answer."""
