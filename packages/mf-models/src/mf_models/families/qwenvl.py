"""Qwen-VL (9.6B): a vision transformer, a resampler to a fixed number of queries, and Qwen.

Source of the sizes: Bai et al. 2023, Qwen-VL, section 2.1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.execution import CacheKeys, OperatorKeys
from mf_models.config_keys.loading import AdaptationKeys
from mf_models.config_keys.numerics import FLOAT32_ALWAYS, FLOAT_TYPES, PrecisionKeys
from mf_models.config_keys.vision import VisionTransformerKeys
from mf_models.config_keys.vision_language import VisionLanguageKeys
from mf_models.families.qwen import QwenConfig
from mf_models.model_config import NETWORK_NOT_BUILT

_BOTH_PARTS = "in both parts of the network; where not given, each part has its own."


@dataclass(frozen=True, slots=True, kw_only=True)
class QwenVLVisionConfig(VisionTransformerKeys):
    """Sizes of the vision transformer."""

    type: str = key("Name of this section's keys.", "QwenVLVisionConfig", allowed=("QwenVLVisionConfig",))
    output_dim: int = key("Width in which the results are handed on.", 4096, minimum=1)
    dropout: float = key("Dropout after each part of a block.", 0.0, minimum=0, maximum=1)
    attention_dropout: float = key("Dropout of attention weights.", 0.0, minimum=0, maximum=1)
    initializer_range: float = key("Standard deviation of new matrices.", 0.02, minimum=0)
    initializer_factor: float = key("Factor of all new weights.", 1.0, above=0)
    use_flash_attention: bool = again(OperatorKeys, "use_flash_attention", False)
    enable_fa_opt: bool = key(
        "Fill up heads to a multiple of 128 for flash attention.", False, inert="the results are the same"
    )
    dtype: str = key("Type of the input.", "float32", allowed=FLOAT_TYPES, inert=FLOAT32_ALWAYS)
    gelu_dtype: str = key("Type of the activation.", "float32", allowed=FLOAT_TYPES, inert=FLOAT32_ALWAYS)

    image_size: int = again(VisionTransformerKeys, "image_size", 448)
    patch_size: int = again(VisionTransformerKeys, "patch_size", 14)
    hidden_size: int = again(VisionTransformerKeys, "hidden_size", 1664)
    intermediate_size: int = again(VisionTransformerKeys, "intermediate_size", 8192)
    num_hidden_layers: int = again(VisionTransformerKeys, "num_hidden_layers", 48)
    num_attention_heads: int = again(VisionTransformerKeys, "num_attention_heads", 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class QwenVLVisionArch:
    """The vision network."""

    type: str = key("Name of the vision network.", "QwenVLVisionModel", allowed=("QwenVLVisionModel",))


@dataclass(frozen=True, slots=True, kw_only=True)
class QwenVLVisionModel:
    """The vision model: its network and its sizes."""

    arch: QwenVLVisionArch = key("The vision network.", QwenVLVisionArch())
    model_config: QwenVLVisionConfig = key("Its sizes.", QwenVLVisionConfig())


@dataclass(frozen=True, slots=True, kw_only=True)
class QwenVLLanguageArch:
    """The language network."""

    type: str = key("Name of the language network.", "QwenForCausalLM", allowed=("QwenForCausalLM",))


@dataclass(frozen=True, slots=True, kw_only=True)
class QwenVLLanguageModel:
    """The language model: its network and its sizes."""

    arch: QwenVLLanguageArch = key("The language network.", QwenVLLanguageArch())
    model_config: QwenConfig = key("Its sizes.")


@component("model", "QwenVLConfig", pending=NETWORK_NOT_BUILT)
@dataclass(frozen=True, slots=True, kw_only=True)
class QwenVLConfig(AdaptationKeys, CacheKeys, OperatorKeys, VisionLanguageKeys):
    """Qwen-VL, text about images."""

    architectures: ClassVar[tuple[str, ...]] = ("QwenVL",)
    pending_architectures: ClassVar[Mapping[str, str]] = {}

    vision_model: QwenVLVisionModel = key("The vision model: its network and its sizes.", QwenVLVisionModel())
    llm_model: QwenVLLanguageModel = key("The language model: its network and its sizes.")
    num_queries: int = key("Tokens that an image becomes.", 256, minimum=1)
    freeze_resampler: bool = key("Keep the weights between vision and language model as they are.", False)
    layers_per_stage: tuple[int, ...] | None = key(
        "Blocks of each pipeline stage, those of the vision model first.",
        None,
        minimum=0,
        inert="there is one pipeline stage",
    )

    compute_dtype: str | None = again(
        PrecisionKeys, "compute_dtype", None, doc=f"Type of matrix products {_BOTH_PARTS}"
    )
    param_init_type: str | None = again(
        PrecisionKeys, "param_init_type", None, doc=f"Type of the weights {_BOTH_PARTS}"
    )
    softmax_compute_type: str | None = again(
        PrecisionKeys, "softmax_compute_type", None, doc=f"Type of the softmax {_BOTH_PARTS}"
    )
