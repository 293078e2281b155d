"""Rows of texts with a class for each token."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_data.datasets.base import TaskKeys


@component("dataset", "TokenClassificationDataset", pending="single tokens are not classified")
@dataclass(frozen=True, slots=True, kw_only=True)
class TokenClassificationDataset(TaskKeys):
    """Rows of ids with the number of a class for each of them."""
