"""Sizes and settings of the Qwen3 family (without experts); imports no MindSpore."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component
from mf_models.config_keys.again import again
from mf_models.config_keys.classes import CLASSIFIER
from mf_models.config_keys.heads import HeadWidthKeys, UnbiasedKeys
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import decoder_to_hf, read_decoder, require_full_attention, require_model_type


@component("model", "Qwen3Config")
@dataclass(frozen=True, slots=True, kw_only=True)
class Qwen3Config(UnbiasedKeys, HeadWidthKeys, HfReadable):
    """Qwen3 from 0.6B to 32B."""

    architectures: ClassVar[tuple[str, ...]] = ("Qwen3ForCausalLM", f"Qwen3{CLASSIFIER}")
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("qwen3",)

    kv_channels: int | None = again(HeadWidthKeys, "kv_channels", 128)
    rms_norm_eps: float = again(HeadWidthKeys, "rms_norm_eps", 1e-6)

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`."""
        require_model_type(hf, cls.hf_model_types)
        hf.require("attention_bias", (False,), absent=False)
        # The width and the first layer of a window are there even where no layer has one.
        hf.require("use_sliding_window", (False,), absent=False)
        hf.ignore(("sliding_window", "max_window_layers"))
        config = cls(**read_decoder(hf), kv_channels=hf.optional_count("head_dim") or 128)
        require_full_attention(hf, config.num_layers)
        return config

    def to_hf(self) -> dict[str, Any]:
        """The configuration as Hugging Face tools read it, with the key spellings that all versions know."""
        flags = {"attention_bias": False, "use_sliding_window": False}
        return decoder_to_hf(self, self.architectures[0], "qwen3") | flags
