"""The processor of Qwen-VL: images and text."""

from dataclasses import dataclass
from typing import Literal

from mf_config.schema import component, key
from mf_data.processors.base import ProcessorKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class QwenVLImageProcessorSection:
    """`image_processor`: how an image becomes a tensor."""

    type: Literal["QwenVLImageProcessor"] = key("The kind of image processor; there is one.", "QwenVLImageProcessor")
    image_size: int = key("Height and width of the image that the model sees.", 224, minimum=1, unit="pixels")
    interpolation: str = key("How an image is scaled.", "bicubic")
    mean: tuple[float, ...] | None = key("What is subtracted from each channel; CLIP's means where absent.", None)
    std: tuple[float, ...] | None = key("What each channel is divided by; CLIP's deviations where absent.", None)
    is_hwc: bool = key("Whether the channels are an image's last dimension.", False)


@component("processor", "QwenVLProcessor", pending="images are not read")
@dataclass(frozen=True, slots=True, kw_only=True)
class QwenVLProcessor(ProcessorKeys):
    """Images and text for Qwen-VL."""

    image_processor: QwenVLImageProcessorSection | None = key("How an image becomes a tensor.", None)
    image_padding_size: int = key("Places that an image takes among the tokens.", 256, minimum=1, unit="tokens")
    prompt: str | None = key("What is asked of every image.", None)
