"""Flickr8k: images with descriptions."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_data.loaders.staged_folder import StagedFolderKeys


@component("data_loader", "Flickr8kDataLoader", pending="images are not read")
@dataclass(frozen=True, slots=True, kw_only=True)
class Flickr8kDataLoader(StagedFolderKeys):
    """Images with five descriptions each."""
