"""TFRecord files."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mf_config.problems import UserError
from mf_config.schema import component, key
from mf_data.loaders.record_files import RecordFileKeys
from mf_data.prepared.tf_record_files import Compression, TfRecordFile, find_tf_record_files
from mf_data.rows.settings import RowSettings


@component("data_loader", "TFRecordDataset")
@dataclass(frozen=True, slots=True, kw_only=True)
class TFRecordDataset(RecordFileKeys):
    """Rows from TFRecord files: lists of integers such as input_ids and labels, one record a sample."""

    shuffle: Literal["global", "files"] | bool = key(
        "Whether each epoch reads the rows in a new order: all of them (True or global), or the files one after "
        "another, each in its own order (files).",
        True,
    )
    schema: str | None = key("A JSON file that names the columns, instead of columns_list.", None)
    shard_equal_rows: bool = key(
        "Give every part equally many rows.", False, inert="each rank takes its own part of every batch"
    )
    compression_type: Compression | None = key("How the files are compressed; not where absent.", None)

    def stored_files(self) -> list[TfRecordFile]:
        """The files, open; see `RecordFileKeys.stored_files`."""
        compression = self.compression_type
        return [file for name, key_name in self.places() for file in find_tf_record_files(name, key_name, compression)]

    def columns(self, settings: RowSettings) -> Sequence[str] | None:
        """The columns to read: those of columns_list, of the schema, or of the data set's section.

        Raises:
            UserError: the schema can't be read.
        """
        if self.columns_list is None and self.schema is not None:
            return _columns_of(Path(self.schema))
        return RecordFileKeys.columns(self, settings)


def _columns_of(path: Path) -> list[str]:
    """The names in a schema of MindSpore: `columns` is an object by name, or a list of objects with a name each."""
    try:
        columns = json.loads(path.read_text(encoding="utf-8"))["columns"]
        return list(columns) if isinstance(columns, dict) else [str(column["name"]) for column in columns]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UserError(
            f'data_loader.schema: {path} can\'t be read ({error}). Allowed: a JSON file such as {{"columns": '
            '{"input_ids": {"type": "int64"}}}.'
        ) from error
