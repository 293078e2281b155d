"""MindRecord files, MindSpore's own form of prepared rows."""

from dataclasses import dataclass
from typing import Any

from mf_config.problems import UserError
from mf_config.schema import component, key
from mf_data.loaders.record_files import RecordFileKeys
from mf_data.mind_record_rows import MindRecordRows, find_mind_record_files
from mf_data.row_settings import RowSettings
from mf_data.tokenizers.base import Tokenizer

_PARTS = "each rank takes its own part of every batch, so that no row has to be added"


@component("data_loader", "MindDataset")
@dataclass(frozen=True, slots=True, kw_only=True)
class MindDataset(RecordFileKeys):
    """Rows from MindRecord files: columns such as input_ids and labels, one row a sample."""

    padded_sample: dict[str, Any] | None = key(
        "A row that fills the last part of the rows up, by column.", None, inert=_PARTS
    )
    num_padded: int | None = key("How often padded_sample is added.", None, minimum=0, inert=_PARTS)

    def prepared_rows(self, seq_length: int, tokenizer: Tokenizer, settings: RowSettings) -> MindRecordRows:
        """The rows; see `mf_data.documents.PreparedLoader`."""
        if self.dataset_files is None and not self.dataset_dir:
            raise UserError("data_loader.dataset_dir: is missing. Allowed: a MindRecord file or a folder of them.")
        names = self.dataset_files if self.dataset_files is not None else self.dataset_dir or ""
        listed = (names,) if isinstance(names, str) else names
        key_name = "data_loader.dataset_dir" if self.dataset_files is None else "data_loader.dataset_files"
        files = [file for name in listed for file in find_mind_record_files(name, key_name)]
        columns = settings.input_columns if self.columns_list is None else self.columns_list
        return MindRecordRows(files, seq_length, tokenizer, columns)
