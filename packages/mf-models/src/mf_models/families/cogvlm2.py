"""CogVLM2 for images (19B) and videos (13B): the vision transformer EVA-02, an adapter, and Llama 3.

Source: Hong et al. 2024, CogVLM2: Visual Language Models for Image and Video Understanding; Fang et al. 2023, EVA-02.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from mf_config.schema import component, key
from mf_models.config_keys.execution import CacheKeys, OperatorKeys
from mf_models.config_keys.loading import AdaptationKeys
from mf_models.config_keys.numerics import FLOAT32_ALWAYS, FLOAT_TYPES
from mf_models.config_keys.vision import VisionTransformerKeys
from mf_models.config_keys.vision_language import VisionLanguageKeys
from mf_models.families.llama.config import LlamaConfig
from mf_models.model_config import NETWORK_NOT_BUILT


@dataclass(frozen=True, slots=True, kw_only=True)
class EVA02Config(VisionTransformerKeys):
    """Sizes of the vision transformer."""

    type: str = key("Name of this section's keys.", "EVA02Config", allowed=("EVA02Config",))
    num_channels: int = key("Colours of a pixel.", 3, minimum=1)
    num_classes: int = key("Classes of the head that sorts images.", 512, minimum=0)
    ref_feat_shape: int = key("Patches along an image of the first training.", 16, minimum=1)
    hidden_dropout_prob: float = key("Dropout after each part of a block.", 0.0, minimum=0, maximum=1)
    attention_dropout_prob: float = key("Dropout of attention weights.", 0.0, minimum=0, maximum=1)
    drop_path_rate: float = key("Chance that a part of a block is left out.", 0.0, minimum=0, maximum=1)
    drop_rate: float = key("Dropout before the head.", 0.0, minimum=0, maximum=1)
    layer_norm: str = key("Kind of the norms.", "layernorm", allowed=("layernorm",))
    layer_norm_eps: float = key("Added to the variance in each norm.", 1e-6, above=0)
    init_values: float | None = key("First value of the learned factor of each part of a block.", None)
    class_token: bool = key("A learned token before the patches.", True)
    with_cls_token: bool = key("Hand on the learned token too.", False)
    use_abs_pos_emb: bool = key("Add learned positions.", True)
    use_rot_pos_emb: bool = key("Rotate queries and keys by their positions.", True)
    qkv_bias: bool = key("Bias in the query, key and value projections.", True)
    use_qkv_fused: bool = key("One matrix for query, key and value.", False)
    use_qkv_simple: bool = key("One bias vector for query, key and value together.", False)
    use_swiglu: bool = key("A gated feed-forward.", True)
    use_scale_mlp: bool = key("A norm inside the feed-forward.", True)
    use_attn_norm: bool = key("A norm inside the attention.", True)
    use_post_norm: bool = key("Norms behind each part of a block instead of before it.", False)
    post_norm: bool = key("A norm behind the last block.", False)
    layer_norm_type: str = key("Type of the norms.", "float32", allowed=FLOAT_TYPES, inert=FLOAT32_ALWAYS)
    rotary_emb_type: str = key("Type of the rotary angles.", "float32", allowed=FLOAT_TYPES, inert=FLOAT32_ALWAYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaArch:
    """The vision network."""

    type: str = key("Name of the vision network.", "EVAModel", allowed=("EVAModel",))


@dataclass(frozen=True, slots=True, kw_only=True)
class CogVLM2VisionModel:
    """The vision model: its network and its sizes."""

    arch: EvaArch = key("The vision network.", EvaArch())
    model_config: EVA02Config = key("Its sizes.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CogVLM2LanguageArch:
    """The language network."""

    type: str = key("Name of the language network.", allowed=("CogVLM2VideoLM", "CogVLM2ImageLM"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CogVLM2LanguageModel:
    """The language model: its network and its sizes."""

    arch: CogVLM2LanguageArch = key("The language network: for videos, or for images.")
    model_config: LlamaConfig = key("Its sizes.")


@component("model", "CogVLM2Config", pending=NETWORK_NOT_BUILT)
@dataclass(frozen=True, slots=True, kw_only=True)
class CogVLM2Config(AdaptationKeys, CacheKeys, OperatorKeys, VisionLanguageKeys):
    """CogVLM2, text about images or videos."""

    architectures: ClassVar[tuple[str, ...]] = ("CogVLM2ForCausalLM", "CogVLM2ImageForCausalLM")
    pending_architectures: ClassVar[Mapping[str, str]] = {}

    vision_model: CogVLM2VisionModel = key("The vision model: its network and its sizes.")
    llm_model: CogVLM2LanguageModel = key("The language model: its network and its sizes.")
    num_queries: int = key("Tokens that a picture becomes.", 66, minimum=1)
    is_video: bool = key("Whether the pictures are those of a video.", False)
    video_downsample: int = key("Patches along each side of a picture that become one token.", 1, minimum=1)
    freeze_adapter: bool = key("Keep the weights between vision and language model as they are.", False)
