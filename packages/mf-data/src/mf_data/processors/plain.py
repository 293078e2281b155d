"""A processor for no model in particular."""

from dataclasses import dataclass
from typing import Any

from mf_config.schema import component, key
from mf_data.processors.base import ProcessorKeys


@component("processor", "BaseProcessor")
@dataclass(frozen=True, slots=True, kw_only=True)
class BaseProcessor(ProcessorKeys):
    """Whatever parts are given; a text model needs the tokenizer alone."""

    image_processor: dict[str, Any] | None = key("How an image becomes a tensor.", None, pending="images are not read")
    audio_processor: dict[str, Any] | None = key("How sound becomes a tensor.", None, pending="sound is not read")
