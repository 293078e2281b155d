"""Sizes and settings of the Gemma 2 family; imports no MindSpore."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.classes import CLASSIFIER
from mf_models.config_keys.heads import HeadWidthKeys, UnbiasedKeys, WindowKeys
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import decoder_to_hf, read_decoder

_GELU = "gelu_pytorch_tanh"


@component("model", "Gemma2Config")
@dataclass(frozen=True, slots=True, kw_only=True)
class Gemma2Config(WindowKeys, UnbiasedKeys, HeadWidthKeys, HfReadable):
    """Gemma 2 from 2B to 27B."""

    architectures: ClassVar[tuple[str, ...]] = ("Gemma2ForCausalLM", f"Gemma2{CLASSIFIER}")
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("gemma2",)

    attn_logit_softcapping: float | None = key("Bound that attention scores approach; None for none.", 50.0, above=0)
    final_logit_softcapping: float | None = key("Bound that logits approach; None for none.", 30.0, above=0)
    query_pre_attn_scalar: float = key("Scores are divided by the root of this.", 256.0, above=0)

    sliding_window: int | None = again(
        WindowKeys,
        "sliding_window",
        4096,
        doc="Tokens that a query sees in the first, third, … block, itself among them; None for all before it.",
    )
    kv_channels: int | None = again(HeadWidthKeys, "kv_channels", 256)
    rms_norm_eps: float = again(HeadWidthKeys, "rms_norm_eps", 1e-6)
    tie_word_embeddings: bool = again(HeadWidthKeys, "tie_word_embeddings", True)

    @property
    def windows(self) -> tuple[int | None, ...]:
        """The windows of two blocks, which repeat."""
        return (self.sliding_window, None)

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`."""
        hf.require("model_type", cls.hf_model_types, absent="none")
        # Older files name the activation in both ways, and hidden_activation counts.
        hf.require("hidden_activation", (_GELU,), absent=_GELU)
        hf.ignore(("hidden_act", "cache_implementation"))
        hf.require("attention_bias", (False,), absent=False)
        hf.require("use_bidirectional_attention", (None, False), absent=None)
        config = cls(
            **read_decoder(hf, tied=True),
            kv_channels=hf.optional_count("head_dim") or 256,
            sliding_window=hf.optional_count("sliding_window", 4096),
            attn_logit_softcapping=hf.optional_number("attn_logit_softcapping", 50.0),
            final_logit_softcapping=hf.optional_number("final_logit_softcapping", 30.0),
            query_pre_attn_scalar=hf.number("query_pre_attn_scalar", 256.0),
        )
        hf.require("layer_types", (None, config._layer_types()), absent=None)
        return config

    def to_hf(self) -> dict[str, Any]:
        """The configuration as Hugging Face tools read it, with the key spellings that all versions know."""
        return decoder_to_hf(self, self.architectures[0], "gemma2") | {
            "attention_bias": False,
            "attn_logit_softcapping": self.attn_logit_softcapping,
            "final_logit_softcapping": self.final_logit_softcapping,
            "hidden_act": _GELU,
            "hidden_activation": _GELU,
            "query_pre_attn_scalar": self.query_pre_attn_scalar,
            "sliding_window": self.sliding_window,
        }

    def _layer_types(self) -> list[str]:
        kinds = ("sliding_attention", "full_attention")
        return [kinds[layer % len(kinds)] for layer in range(self.num_layers)]
