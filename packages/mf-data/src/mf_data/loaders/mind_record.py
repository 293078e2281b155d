"""MindRecord files, MindSpore's own form of prepared rows."""

from dataclasses import dataclass
from typing import Any

from mf_config.schema import component, key
from mf_data.loaders.record_files import RecordFileKeys
from mf_data.prepared.mind_record_files import MindRecordFile, find_mind_record_files

_PARTS = "each rank takes its own part of every batch, so that no row has to be added"


@component("data_loader", "MindDataset")
@dataclass(frozen=True, slots=True, kw_only=True)
class MindDataset(RecordFileKeys):
    """Rows from MindRecord files: columns such as input_ids and labels, one row a sample."""

    padded_sample: dict[str, Any] | None = key(
        "A row that fills the last part of the rows up, by column.", None, inert=_PARTS
    )
    num_padded: int | None = key("How often padded_sample is added.", None, minimum=0, inert=_PARTS)

    def stored_files(self) -> list[MindRecordFile]:
        """The files, open; see `RecordFileKeys.stored_files`."""
        return [file for name, key_name in self.places() for file in find_mind_record_files(name, key_name)]
