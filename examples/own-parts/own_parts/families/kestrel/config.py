"""Sizes and settings of the Kestrel family; imports no MindSpore."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component
from mf_models.config_keys.heads import UnbiasedKeys
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import decoder_to_hf, read_decoder, require_model_type


@component("model", "KestrelConfig")
@dataclass(frozen=True, slots=True, kw_only=True)
class KestrelConfig(UnbiasedKeys, HfReadable):
    """A Llama whose feed-forward is gated by GELU."""

    architectures: ClassVar[tuple[str, ...]] = ("KestrelForCausalLM",)
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("kestrel",)

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`."""
        require_model_type(hf, cls.hf_model_types)
        config = cls(**read_decoder(hf))
        hf.require("head_dim", (None, config.head_dim), absent=None)
        return config

    def to_hf(self) -> dict[str, Any]:
        """The content of a config.json."""
        return decoder_to_hf(self, self.architectures[0], "kestrel")
