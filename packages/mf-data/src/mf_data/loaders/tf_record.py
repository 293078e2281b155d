"""TFRecord files."""

from dataclasses import dataclass
from typing import Literal

from mf_config.schema import component, key
from mf_data.loaders.record_files import RecordFileKeys


@component("data_loader", "TFRecordDataset", pending="TFRecord files are not read")
@dataclass(frozen=True, slots=True, kw_only=True)
class TFRecordDataset(RecordFileKeys):
    """Rows from TFRecord files."""

    shuffle: Literal["global", "files"] | bool = key(
        "Whether each epoch reads the rows in a new order; global or files say what is reordered.", True
    )
    schema: str | None = key("A JSON file that names the columns and their types; all columns where absent.", None)
    shard_equal_rows: bool = key("Give every part equally many rows.", False)
    compression_type: Literal["ZLIB", "GZIP"] | None = key("How the files are compressed; not where absent.", None)
