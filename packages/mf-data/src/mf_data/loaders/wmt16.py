"""WMT 16: English and Romanian sentences."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_data.loaders.staged_folder import StagedFolderKeys


@component("data_loader", "WMT16DataLoader", pending="its pairs of sentences are not read")
@dataclass(frozen=True, slots=True, kw_only=True)
class WMT16DataLoader(StagedFolderKeys):
    """Sentences with their translations."""
