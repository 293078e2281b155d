"""CIFAR-100: small images of a hundred kinds."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_data.loaders.staged_folder import StagedFolderKeys


@component("data_loader", "Cifar100DataLoader", pending="images are not read")
@dataclass(frozen=True, slots=True, kw_only=True)
class Cifar100DataLoader(StagedFolderKeys):
    """Images with the name of what they show."""

    shuffle: bool = key("Whether each epoch reads the rows in a new order.", False)
    fine_label: bool = key("Tell a hundred kinds apart instead of twenty groups.", True)
    hypothesis_template: str = key("The sentence around the name of a kind.", "This is a photo of {}.")
