"""Sizes of a vision transformer, the section `vision_model.model_config`."""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import key
from mf_models.config_keys.loading import LoadingKeys
from mf_models.config_keys.numerics import PrecisionKeys


@dataclass(frozen=True, kw_only=True)
class VisionTransformerKeys(LoadingKeys, PrecisionKeys):
    """Image, patches and blocks."""

    __slots__ = ()

    image_size: int = key("Height and width of an image.", 224, minimum=1, unit="pixels")
    patch_size: int = key("Height and width of the patches that an image is cut into.", 16, minimum=1, unit="pixels")
    hidden_size: int = key("Width of the residual stream.", 768, minimum=1)
    intermediate_size: int = key("Inner width of the feed-forward.", 2048, minimum=1)
    num_hidden_layers: int = key("Number of blocks.", 12, minimum=1)
    num_attention_heads: int = key("Number of heads.", 12, minimum=1)
    offset: int | tuple[int, ...] = key(
        "Blocks that each pipeline stage has more than the others.", 0, inert="there is one pipeline stage"
    )

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What does not fit together: key name, what is wrong, what is allowed."""
        if self.hidden_size % self.num_attention_heads:
            what = f"{self.hidden_size} is not divisible by num_attention_heads {self.num_attention_heads}"
            yield "hidden_size", what, "a multiple of it"
        if self.image_size % self.patch_size:
            what = f"{self.image_size} is not divisible by patch_size {self.patch_size}"
            yield "image_size", what, "a multiple of it"
