"""Sizes and settings of the Phi-3 family; imports no MindSpore."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component
from mf_models.config_keys.classes import CLASSIFIER
from mf_models.config_keys.heads import UnbiasedKeys, WindowKeys
from mf_models.config_keys.rotary import RotaryScaling
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import decoder_to_hf, read_decoder, require_model_type


@component("model", "Phi3Config")
@dataclass(frozen=True, slots=True, kw_only=True)
class Phi3Config(WindowKeys, UnbiasedKeys, HfReadable):
    """Phi-3 and Phi-3.5 mini and medium with 4K or 128K tokens, and models of the same kind."""

    architectures: ClassVar[tuple[str, ...]] = ("Phi3ForCausalLM", f"Phi3{CLASSIFIER}")
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("phi3",)

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`."""
        require_model_type(hf, cls.hf_model_types)
        hf.require("attention_bias", (False,), absent=False)
        hf.require("partial_rotary_factor", (1.0,), absent=1.0)
        for name in ("embd_pdrop", "resid_pdrop"):
            hf.require(name, (0.0,), absent=0.0)
        original = hf.optional_count("original_max_position_embeddings", 4096)
        hf.ignore(("auto_map",))
        keys = read_decoder(hf, epsilon=1e-5, original_positions=original)
        config = cls(**keys, sliding_window=hf.optional_count("sliding_window"))
        hf.require("head_dim", (None, config.head_dim), absent=None)
        return config

    def to_hf(self) -> dict[str, Any]:
        """The configuration as Hugging Face tools read it, with the key spellings that all versions know."""
        original = self.max_positions
        if isinstance(self.scaling_factor, RotaryScaling) and self.extend_method == "LONGROPE":
            original = self.scaling_factor.original_max_position_embeddings or original
        own = {"sliding_window": self.sliding_window, "original_max_position_embeddings": original}
        return decoder_to_hf(self, self.architectures[0], "phi3") | own
