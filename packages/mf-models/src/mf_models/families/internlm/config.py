"""Sizes and settings of InternLM of the first generation; imports no MindSpore."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.decoder import DecoderKeys
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import decoder_to_hf, read_decoder, require_model_type

_KINDS = ("origin", "dynamic")
_BASE = 10000.0


@component("model", "InternLMConfig")
@dataclass(frozen=True, slots=True, kw_only=True)
class InternLMConfig(DecoderKeys, HfReadable):
    """InternLM of the first generation (7B, 20B)."""

    architectures: ClassVar[tuple[str, ...]] = ("InternLMForCausalLM",)
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("internlm",)

    has_bias: bool = key("Bias in the query, key, value and output projections.", True)

    qkv_has_bias: bool = again(DecoderKeys, "qkv_has_bias", False, inert="has_bias says it for all four projections")
    extend_method: str | None = again(DecoderKeys, "extend_method", None, allowed=("NTK", "DYNAMIC_NTK"))
    vocab_size: int = again(DecoderKeys, "vocab_size", 103168)
    rms_norm_eps: float = again(DecoderKeys, "rms_norm_eps", 1e-6)
    pad_token_id: int | None = again(DecoderKeys, "pad_token_id", 2)
    rotary_dtype: str = again(DecoderKeys, "rotary_dtype", "float16")
    max_decode_length: int = again(DecoderKeys, "max_decode_length", 512)

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`."""
        require_model_type(hf, cls.hf_model_types)
        hf.ignore(("auto_map", "attn_implementation"))
        keys = read_decoder(hf) | _read_rotary(hf)
        config = cls(**keys, has_bias=hf.flag("bias", True))
        hf.require("head_dim", (None, config.head_dim), absent=None)
        if config.num_kv_heads != config.num_heads:
            hf.refuse("num_key_value_heads", f"{config.num_kv_heads} is not supported", f"{config.num_heads}")
        return config

    def to_hf(self) -> dict[str, Any]:
        """The configuration as the code published with the model reads it."""
        common = decoder_to_hf(self, self.architectures[0], "internlm")
        del common["num_key_value_heads"]
        rotary = {"base": common.pop("rope_theta"), "type": "origin"}
        if common.pop("rope_scaling") is not None:
            rotary |= {"type": "dynamic", "scaling_factor": self.scaling_factor}
        return common | {"bias": self.has_bias, "rotary": rotary}


def _read_rotary(hf: HfConfig) -> dict[str, Any]:
    """The family's own section of rotary positions; one without it has the growing base."""
    section = hf.section("rotary")
    if section is None:
        return {"theta": _BASE, "extend_method": "DYNAMIC_NTK", "scaling_factor": 1.0}
    theta = {"theta": section.number("base", _BASE)}
    kind, factor = section.choice("type", _KINDS, absent="dynamic"), section.number("scaling_factor", 1.0)
    return theta if kind == "origin" else theta | {"extend_method": "DYNAMIC_NTK", "scaling_factor": factor}
