"""Rows of conversations about images or videos."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_data.datasets.base import TaskKeys


@component("dataset", "ModalToTextSFTDataset", pending="images and sound are not made into rows")
@dataclass(frozen=True, slots=True, kw_only=True)
class ModalToTextSFTDataset(TaskKeys):
    """Rows of ids and of the images that a conversation speaks of, made by `modal_to_text_transform`."""
