"""Sizes and settings of Qwen of the first generation; imports no MindSpore."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.decoder import DecoderKeys
from mf_models.config_keys.numerics import STORED_TYPE
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import IGNORED_IN_HF, tokens_to_hf
from mf_models.hf_rotary import rotary_to_hf

_NOT_DIVIDED = "the embedding is not divided"
_END_OF_TEXT = 151643
"""What config.json leaves to the tokenizer."""
_HF_ALWAYS: Mapping[str, Any] = {
    "attn_dropout_prob": 0.0,
    "emb_dropout_prob": 0.0,
    "no_bias": True,
    "rotary_pct": 1.0,
    "scale_attn_weights": True,
}
"""What config.json files of this family can't have otherwise."""
_HF_IGNORED = (
    "auto_map",
    "bf16",
    "fp16",
    "fp32",
    "onnx_safe",
    "softmax_in_fp32",
    "use_cache_kernel",
    "use_cache_quantization",
    "use_flash_attn",
)
"""Settings of the code published with the model that change no result."""


@component("model", "QwenConfig")
@dataclass(frozen=True, slots=True, kw_only=True)
class QwenConfig(DecoderKeys, HfReadable):
    """Qwen of the first generation, from 1.8B to 72B."""

    architectures: ClassVar[tuple[str, ...]] = ("QwenForCausalLM",)
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("qwen",)

    num_hidden_layers: int | None = key(
        "Another name of num_layers.", None, minimum=1, deprecated="since 1.3: write num_layers"
    )
    num_attention_heads: int | None = key(
        "Another name of num_heads.", None, minimum=1, deprecated="since 1.3: write num_heads"
    )
    use_dynamic_ntk: bool = key(
        "Let the rotary base grow each time that a text longer than seq_length has doubled.", False
    )
    use_logn_attn: bool = key("Let queries grow that see more than seq_length keys.", False)
    embedding_parallel_optimizer: bool = key(
        "Let the optimizer state of the embedding be divided.", True, inert="optimizer states are not divided"
    )
    enable_slice_dp: bool = key("Divide the embedding over data-parallel processes.", True, inert=_NOT_DIVIDED)
    enable_emb_opt: bool = key("A division of the embedding that sends less.", False, inert=_NOT_DIVIDED)

    qkv_has_bias: bool = again(DecoderKeys, "qkv_has_bias", True, allowed=(True,))
    extend_method: str | None = again(DecoderKeys, "extend_method", None, allowed=("NTK",))

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`."""
        hf.require("model_type", cls.hf_model_types, absent="none")
        for name, value in _HF_ALWAYS.items():
            hf.require(name, (value,), absent=value)
        hf.ignore((*_HF_IGNORED, *IGNORED_IN_HF))
        config = cls(
            seq_length=hf.optional_count("seq_length", 2048) or 2048,
            max_position_embedding=hf.count("max_position_embeddings"),
            hidden_size=hf.count("hidden_size"),
            num_layers=hf.count("num_hidden_layers"),
            num_heads=hf.count("num_attention_heads"),
            # The file counts the gate and what it is multiplied with together.
            intermediate_size=max(1, hf.count("intermediate_size") // 2),
            vocab_size=hf.count("vocab_size"),
            rms_norm_eps=hf.number("layer_norm_epsilon", 1e-6),
            theta=hf.number("rotary_emb_base", 10000.0),
            use_dynamic_ntk=hf.flag("use_dynamic_ntk", True),
            use_logn_attn=hf.flag("use_logn_attn", True),
            tie_word_embeddings=hf.flag("tie_word_embeddings", False),
            initializer_range=hf.number("initializer_range", 0.02),
            bos_token_id=hf.token("bos_token_id", None),
            eos_token_id=hf.tokens("eos_token_id", _END_OF_TEXT),
            pad_token_id=hf.token("pad_token_id", None),
        )
        hf.require("kv_channels", (config.head_dim,), absent=128)
        return config

    def to_hf(self) -> dict[str, Any]:
        """The configuration as the code published with the model reads it."""
        return {
            **_HF_ALWAYS,
            "architectures": ["QWenLMHeadModel"],
            "model_type": "qwen",
            **tokens_to_hf(self),
            "hidden_size": self.hidden_size,
            "initializer_range": self.initializer_range,
            "intermediate_size": 2 * self.inner_size,
            "kv_channels": self.head_dim,
            "layer_norm_epsilon": self.rms_norm_eps,
            "max_position_embeddings": self.max_positions,
            "num_attention_heads": self.num_heads,
            "num_hidden_layers": self.num_layers,
            "rotary_emb_base": rotary_to_hf(self)["rope_theta"],
            "seq_length": self.seq_length,
            "tie_word_embeddings": self.tie_word_embeddings,
            "torch_dtype": STORED_TYPE,
            "use_dynamic_ntk": self.use_dynamic_ntk,
            "use_logn_attn": self.use_logn_attn,
            "vocab_size": self.vocab_size,
        }

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What does not fit together: key name, what is wrong, what is allowed."""
        yield from DecoderKeys.problems(self)
        for older, newer in (("num_hidden_layers", "num_layers"), ("num_attention_heads", "num_heads")):
            asked, counts = getattr(self, older), getattr(self, newer)
            if asked is not None and asked != counts:
                yield older, f"{asked} differs from {newer} {counts}, which counts", f"{newer} alone"
        if self.num_kv_heads != self.num_heads:
            yield "n_kv_heads", f"{self.num_kv_heads} differs from num_heads {self.num_heads}", f"{self.num_heads}"
        if self.use_dynamic_ntk and self.extend_method is not None:
            yield "use_dynamic_ntk", f"does not go with extend_method {self.extend_method}", "one of them"
