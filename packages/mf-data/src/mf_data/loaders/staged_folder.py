"""The keys of the loaders of published data sets, which come as a folder with parts for training and testing."""

from dataclasses import dataclass

from mf_config.schema import key
from mf_data.loaders.base import LoaderKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFolderKeys(LoaderKeys):
    """Where the data set lies, and which part of it to read."""

    dataset_dir: str | None = key("Folder of the data set.", None)
    stage: str = key("The part to read.", "train", allowed=("train", "dev", "val", "test", "eval", "all"))
    column_names: tuple[str, ...] | None = key("The columns that a row has; the data set's own where absent.", None)
