"""Sizes and settings of the Llama family, under the key names of MindFormers; imports no MindSpore."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mf_config.schema import component
from mf_models.config_keys.decoder import DecoderKeys
from mf_models.config_keys.numerics import STORED_TYPE
from mf_models.hf_config import HfConfig
from mf_models.model_config import NETWORK_NOT_BUILT


@component("model", "LlamaConfig")
@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaConfig(DecoderKeys):
    """Llama 2 and 3 and models of the same kind: Code Llama, Yi, Mixtral, DeepSeek-Coder, Qwen1.5, Qwen2, Baichuan2."""

    architectures: ClassVar[tuple[str, ...]] = (
        "LlamaForCausalLM",
        "ParallelLlamaForCausalLM",
        "Baichuan7BV2ForCausalLM",
        "Baichuan13BV2ForCausalLM",
    )
    pending_architectures: ClassVar[Mapping[str, str]] = dict.fromkeys(architectures[1:], NETWORK_NOT_BUILT)
    hf_model_type: ClassVar[str] = "llama"

    @classmethod
    def from_hf(cls, data: dict[str, Any], where: str = "config.json") -> "LlamaConfig":
        """Read a Hugging Face configuration.

        The dtype in it says how the weights are stored, not how they are computed with, so it is not taken over.

        Args:
            data: content of config.json.
            where: the file's name in messages.

        Raises:
            ConfigError: keys that are missing, not known, or ask for what this family can't do.
        """
        hf = HfConfig(data, where)
        hf.require("model_type", (cls.hf_model_type,), absent="none")
        hf.require("hidden_act", ("silu",), absent="silu")
        for name in ("attention_bias", "mlp_bias", "rope_interleaved"):
            hf.require(name, (False,), absent=False)
        hf.require("attention_dropout", (0.0,), absent=0.0)
        hf.require("rope_scaling", (None,), absent=None)
        hidden_size, num_heads = hf.count("hidden_size"), hf.count("num_attention_heads")
        hf.require("head_dim", (None, hidden_size // num_heads), absent=None)
        positions = hf.count("max_position_embeddings")
        hf.ignore(_HF_IGNORED)
        config = cls(
            seq_length=positions,
            max_position_embedding=positions,
            hidden_size=hidden_size,
            num_layers=hf.count("num_hidden_layers"),
            num_heads=num_heads,
            n_kv_heads=hf.optional_count("num_key_value_heads"),
            intermediate_size=hf.count("intermediate_size"),
            vocab_size=hf.count("vocab_size"),
            rms_norm_eps=hf.number("rms_norm_eps", 1e-6),
            theta=hf.number("rope_theta", 10000.0),
            tie_word_embeddings=hf.flag("tie_word_embeddings", False),
            initializer_range=hf.number("initializer_range", 0.02),
            bos_token_id=hf.token("bos_token_id", 1),
            eos_token_id=hf.tokens("eos_token_id", 2),
            pad_token_id=hf.token("pad_token_id", None),
        )
        hf.finish()
        hf.check(config.problems())
        return config

    def to_hf(self) -> dict[str, Any]:
        """The configuration as Hugging Face tools read it, with the key spellings that all versions know."""
        return {
            "architectures": [self.architectures[0]],
            "model_type": self.hf_model_type,
            "attention_bias": False,
            "bos_token_id": self.bos_token_id,
            "eos_token_id": list(self.eos_token_id) if isinstance(self.eos_token_id, tuple) else self.eos_token_id,
            "head_dim": self.head_dim,
            "hidden_act": "silu",
            "hidden_size": self.hidden_size,
            "initializer_range": self.initializer_range,
            "intermediate_size": self.inner_size,
            "max_position_embeddings": self.max_positions,
            "mlp_bias": False,
            "num_attention_heads": self.num_heads,
            "num_hidden_layers": self.num_layers,
            "num_key_value_heads": self.num_kv_heads,
            "pad_token_id": self.pad_token_id,
            "rms_norm_eps": self.rms_norm_eps,
            "rope_scaling": None,
            "rope_theta": self.theta,
            "tie_word_embeddings": self.tie_word_embeddings,
            "torch_dtype": STORED_TYPE,
            "vocab_size": self.vocab_size,
        }


_HF_IGNORED = (
    "architectures",
    "torch_dtype",
    "dtype",
    "use_cache",
    "pretraining_tp",
    "transformers_version",
    "transformers.js_config",
    "tokenizer_class",
    "unk_token_id",
    "is_llama_config",
    "_name_or_path",
)
"""Keys of published files that change no number of the model; pretraining_tp only cuts the same products in pieces."""
