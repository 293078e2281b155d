"""The keys of the loaders that read files of prepared rows."""

from dataclasses import dataclass
from typing import Literal

from mf_config.schema import key
from mf_data.loaders.base import ShardedKeys

ShuffleLevel = Literal["global", "files", "infile"]
"""What MindSpore's loaders put into a new order: all rows, the files, or the rows within each file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFileKeys(ShardedKeys):
    """Which files and which of their columns."""

    shuffle: ShuffleLevel | bool = key(
        "Whether each epoch reads the rows in a new order.",
        True,
        pending="only all rows are reordered together",
        runs=(True, False, "global"),
    )
    dataset_dir: str | None = key("A file of prepared rows, or a folder of such files.", None)
    dataset_files: str | tuple[str, ...] | None = key("A file or a list of files, instead of dataset_dir.", None)
    columns_list: tuple[str, ...] | None = key(
        "The columns to read; input_columns where it is absent, else those of input_ids, labels and attention_mask "
        "that the files have.",
        None,
    )
    num_parallel_workers: int | None = key(
        "Threads that read.", None, minimum=1, inert="rows are prepared before the first step and read from memory"
    )
