"""CLUENER: names in Chinese texts."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_data.loaders.staged_folder import StagedFolderKeys


@component("data_loader", "CLUENERDataLoader", pending="its names are not read")
@dataclass(frozen=True, slots=True, kw_only=True)
class CLUENERDataLoader(StagedFolderKeys):
    """Texts with the names in them."""
