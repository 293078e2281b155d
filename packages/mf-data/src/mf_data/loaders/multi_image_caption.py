"""Images with descriptions from several sources."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_data.loaders.staged_folder import StagedFolderKeys


@component("data_loader", "MultiImgCapDataLoader", pending="images are not read")
@dataclass(frozen=True, slots=True, kw_only=True)
class MultiImgCapDataLoader(StagedFolderKeys):
    """Images with descriptions."""

    annotation_files: tuple[str, ...] = key("Files of the descriptions, one for each folder of images.")
    image_dirs: tuple[str, ...] = key("Folders of the images, below dataset_dir.")
    repeat_images: bool = key("Give an image out once for each of its descriptions.", False)
