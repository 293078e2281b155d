"""Sizes and settings of the Baichuan 2 family; imports no MindSpore."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.between import shared_values
from mf_models.config_keys.decoder import DecoderKeys
from mf_models.config_keys.heads import UnbiasedKeys
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import decoder_to_hf, read_decoder, require_model_type

_FIRST_GENERATION = 64000
"""Vocabulary of Baichuan 1, which has the same model_type and another head."""
_WITH_ALIBI = "Baichuan13BV2ForCausalLM"


@component("model", "Baichuan2Config")
@dataclass(frozen=True, slots=True, kw_only=True)
class Baichuan2Config(UnbiasedKeys, HfReadable):
    """Baichuan 2 (7B with rotary positions, 13B with a penalty of distance).

    Run files of MindFormers have its sizes in the section LlamaConfig, and name the network in `arch`.
    """

    architectures: ClassVar[tuple[str, ...]] = ("BaichuanForCausalLM", "Baichuan7BV2ForCausalLM", _WITH_ALIBI)
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("baichuan",)

    alibi: bool = key("Positions as a penalty of distance, as the 13B has them, instead of rotary ones.", False)

    vocab_size: int = again(UnbiasedKeys, "vocab_size", 125696)
    rms_norm_eps: float = again(UnbiasedKeys, "rms_norm_eps", 1e-6)

    @classmethod
    def of_section(cls, section: DecoderKeys, architecture: str) -> Self:
        """The configuration that a section LlamaConfig means beside the name of one of Baichuan 2's networks."""
        return cls(**shared_values(section, cls), alibi=architecture == _WITH_ALIBI)

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`.

        Only the size with rotary positions says how many of them there are.
        """
        require_model_type(hf, cls.hf_model_types)
        hf.ignore(("auto_map", "z_loss_weight", "gradient_checkpointing", "_from_model_config"))
        alibi = not hf.has("max_position_embeddings")
        config = cls(**read_decoder(hf, positions_key="model_max_length" if alibi else None), alibi=alibi)
        hf.ignore(("model_max_length",))
        hf.require("head_dim", (None, config.head_dim), absent=None)
        if config.vocab_size == _FIRST_GENERATION:
            hf.refuse("vocab_size", f"{_FIRST_GENERATION} means Baichuan 1, which has another head", "Baichuan 2")
        return config

    def to_hf(self) -> dict[str, Any]:
        """The configuration as the code published with the model reads it."""
        common = decoder_to_hf(self, self.architectures[0], "baichuan")
        del common["num_key_value_heads"]
        positions = common.pop("max_position_embeddings")
        if not self.alibi:
            return common | {"max_position_embeddings": positions, "model_max_length": positions}
        return {name: value for name, value in common.items() if not name.startswith("rope_")} | {
            "model_max_length": positions
        }

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What does not fit together: key name, what is wrong, what is allowed."""
        yield from UnbiasedKeys.problems(self)
        if self.num_kv_heads != self.num_heads:
            yield "n_kv_heads", f"{self.num_kv_heads} differs from num_heads {self.num_heads}", f"{self.num_heads}"
        if self.alibi and self.extend_method is not None:
            yield "extend_method", f"{self.extend_method} scales rotary positions, and this network has none", "None"
