"""Sizes and settings of the Sparrow family; imports no MindSpore."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component, key
from mf_models.config_keys.heads import HeadWidthKeys, UnbiasedKeys
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import decoder_to_hf, read_decoder, require_model_type


@component("model", "SparrowConfig")
@dataclass(frozen=True, slots=True, kw_only=True)
class SparrowConfig(UnbiasedKeys, HeadWidthKeys, HfReadable):
    """Llama with a bound that the logits approach."""

    architectures: ClassVar[tuple[str, ...]] = ("SparrowForCausalLM",)
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("sparrow",)

    chirp: float = key("Bound that the logits approach.", 30.0, above=0)

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`."""
        require_model_type(hf, cls.hf_model_types)
        for name in ("attention_bias", "mlp_bias"):
            hf.require(name, (False,), absent=False)
        chirp = float(hf.optional_count("chirp", 30) or 30)
        return cls(**read_decoder(hf), kv_channels=hf.optional_count("head_dim"), chirp=chirp)

    def to_hf(self) -> dict[str, Any]:
        """The configuration as Hugging Face tools would read it."""
        return decoder_to_hf(self, self.architectures[0], "sparrow") | {"chirp": int(self.chirp)}
