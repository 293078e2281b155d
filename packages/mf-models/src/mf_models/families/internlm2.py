"""InternLM2 (7B, 20B): the Llama block; published weights hold query, key and value of a group in one matrix."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.decoder import DecoderKeys
from mf_models.model_config import NETWORK_NOT_BUILT


@component("model", "InternLM2Config", pending=NETWORK_NOT_BUILT)
@dataclass(frozen=True, slots=True, kw_only=True)
class InternLM2Config(DecoderKeys):
    """InternLM2."""

    architectures: ClassVar[tuple[str, ...]] = ("InternLM2ForCausalLM",)
    pending_architectures: ClassVar[Mapping[str, str]] = {}

    has_bias: bool = key(
        "Bias in the attention projections.", False, inert="InternLM2 has no biases and never reads it"
    )

    n_kv_heads: int | None = again(DecoderKeys, "n_kv_heads", 8)
    intermediate_size: int | None = again(DecoderKeys, "intermediate_size", 14336)
    vocab_size: int = again(DecoderKeys, "vocab_size", 92544)
    theta: float = again(DecoderKeys, "theta", 1000000.0)
    pad_token_id: int | None = again(DecoderKeys, "pad_token_id", 2)
    qkv_concat: bool = again(DecoderKeys, "qkv_concat", True)
    max_decode_length: int = again(DecoderKeys, "max_decode_length", 512)
