"""Sizes and settings of the Mistral family; imports no MindSpore."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component
from mf_models.config_keys.classes import CLASSIFIER
from mf_models.config_keys.heads import HeadWidthKeys, UnbiasedKeys, WindowKeys
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import decoder_to_hf, head_width, read_decoder, require_model_type


@component("model", "MistralConfig")
@dataclass(frozen=True, slots=True, kw_only=True)
class MistralConfig(WindowKeys, UnbiasedKeys, HeadWidthKeys, HfReadable):
    """Mistral 7B, Mistral Nemo, and models of the same kind."""

    architectures: ClassVar[tuple[str, ...]] = ("MistralForCausalLM", f"Mistral{CLASSIFIER}")
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("mistral",)

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`."""
        require_model_type(hf, cls.hf_model_types)
        keys = read_decoder(hf)
        return cls(**keys, **head_width(hf, keys), sliding_window=hf.optional_count("sliding_window", 4096))

    def to_hf(self) -> dict[str, Any]:
        """The configuration as Hugging Face tools read it, with the key spellings that all versions know."""
        return decoder_to_hf(self, self.architectures[0], "mistral") | {"sliding_window": self.sliding_window}
