"""Sizes and settings of the GLM-4-0414 family; imports no MindSpore."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component
from mf_models.config_keys.again import again
from mf_models.config_keys.classes import CLASSIFIER
from mf_models.config_keys.heads import HeadWidthKeys
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import decoder_to_hf, read_decoder, require_model_type


@component("model", "Glm4Config")
@dataclass(frozen=True, slots=True, kw_only=True)
class Glm4Config(HeadWidthKeys, HfReadable):
    """GLM-4-9B-0414, GLM-4-32B-0414, GLM-Z1."""

    architectures: ClassVar[tuple[str, ...]] = ("Glm4ForCausalLM", f"Glm4{CLASSIFIER}")
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("glm4",)

    kv_channels: int | None = again(HeadWidthKeys, "kv_channels", 128)
    rms_norm_eps: float = again(HeadWidthKeys, "rms_norm_eps", 1.5625e-07)
    rotary_pct: float = again(HeadWidthKeys, "rotary_pct", 0.5, inert="")

    @property
    def rotary_dim(self) -> int:
        """Elements of a head that are rotated."""
        return int(self.head_dim * self.rotary_pct)

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`."""
        require_model_type(hf, cls.hf_model_types)
        return cls(
            **read_decoder(hf, epsilon=1.5625e-07),
            qkv_has_bias=hf.flag("attention_bias", False),
            kv_channels=hf.optional_count("head_dim") or 128,
            rotary_pct=hf.number("partial_rotary_factor", 0.5),
        )

    def to_hf(self) -> dict[str, Any]:
        """The configuration as Hugging Face tools read it, with the key spellings that all versions know."""
        own = {"attention_bias": self.qkv_has_bias, "partial_rotary_factor": self.rotary_pct}
        return decoder_to_hf(self, self.architectures[0], "glm4") | own

    def head_problems(self) -> Iterator[tuple[str, str, str]]:
        """As for all decoders; the rotated part must be even too."""
        yield from HeadWidthKeys.head_problems(self)
        if self.rotary_dim < 2 or self.rotary_dim % 2:
            what = f"{self.rotary_pct:g} of a head of {self.head_dim} is {self.rotary_dim}, which can't be rotated"
            yield "rotary_pct", what, "an even part of a head"
