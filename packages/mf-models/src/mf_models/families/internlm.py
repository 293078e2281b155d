"""InternLM of the first generation (7B, 20B): the Llama block with biases in all four attention projections."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.decoder import DecoderKeys
from mf_models.model_config import NETWORK_NOT_BUILT


@component("model", "InternLMConfig", pending=NETWORK_NOT_BUILT)
@dataclass(frozen=True, slots=True, kw_only=True)
class InternLMConfig(DecoderKeys):
    """InternLM of the first generation."""

    architectures: ClassVar[tuple[str, ...]] = ("InternLMForCausalLM",)
    pending_architectures: ClassVar[Mapping[str, str]] = {}

    has_bias: bool = key("Bias in the query, key, value and output projections.", True)

    vocab_size: int = again(DecoderKeys, "vocab_size", 103168)
    rms_norm_eps: float = again(DecoderKeys, "rms_norm_eps", 1e-6)
    pad_token_id: int | None = again(DecoderKeys, "pad_token_id", 2)
    rotary_dtype: str = again(DecoderKeys, "rotary_dtype", "float16")
    max_decode_length: int = again(DecoderKeys, "max_decode_length", 512)
