"""Conversations about images, videos or sound."""

from dataclasses import dataclass
from typing import Any

from mf_config.schema import component, key
from mf_data.loaders.base import LoaderKeys


@component("data_loader", "BaseMultiModalDataLoader", pending="images and sound are not read")
@dataclass(frozen=True, slots=True, kw_only=True)
class BaseMultiModalDataLoader(LoaderKeys):
    """Conversations from a JSON file that names the images or videos they speak of."""

    annotation_file: str | None = key("The JSON file of the conversations.", None)
    extra_kwargs: dict[str, Any] | None = key("Arguments of the reader of that file, such as max_length.", None)
