"""Rows from an object of the calling program."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_data.datasets.base import TaskKeys


@component("dataset", "GeneralDataset", pending="it takes its rows from an object of a program, which no file can name")
@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralDataset(TaskKeys):
    """Rows of any iterable object that a program hands to its trainer."""
