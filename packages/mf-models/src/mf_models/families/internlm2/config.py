"""Sizes and settings of the InternLM2 family; imports no MindSpore."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.heads import UnbiasedKeys
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import decoder_to_hf, read_decoder, require_model_type


@component("model", "InternLM2Config")
@dataclass(frozen=True, slots=True, kw_only=True)
class InternLM2Config(UnbiasedKeys, HfReadable):
    """InternLM2 and InternLM2.5 from 1.8B to 20B."""

    architectures: ClassVar[tuple[str, ...]] = ("InternLM2ForCausalLM",)
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("internlm2",)

    has_bias: bool = key(
        "Bias in the attention projections.", False, inert="InternLM2 has no biases and never reads it"
    )

    n_kv_heads: int | None = again(UnbiasedKeys, "n_kv_heads", 8)
    intermediate_size: int | None = again(UnbiasedKeys, "intermediate_size", 14336)
    vocab_size: int = again(UnbiasedKeys, "vocab_size", 92544)
    theta: float = again(UnbiasedKeys, "theta", 1000000.0)
    pad_token_id: int | None = again(UnbiasedKeys, "pad_token_id", 2)
    qkv_concat: bool = again(
        UnbiasedKeys,
        "qkv_concat",
        True,
        doc="Whether MindFormers' checkpoints hold query, key and value in one matrix.",
        inert="",
    )
    max_decode_length: int = again(UnbiasedKeys, "max_decode_length", 512)

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`."""
        require_model_type(hf, cls.hf_model_types)
        hf.require("bias", (False,), absent=True)
        hf.ignore(("auto_map", "attn_implementation"))
        config = cls(**read_decoder(hf))
        hf.require("head_dim", (None, config.head_dim), absent=None)
        return config

    def to_hf(self) -> dict[str, Any]:
        """The configuration as the code published with the model reads it."""
        return decoder_to_hf(self, self.architectures[0], "internlm2") | {"bias": False}
