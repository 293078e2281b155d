"""ChatGLM2, ChatGLM3 and GLM-4 (6B, 9B): half-rotated heads, few key/value groups, biased query, key and value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.dropout import dropout_problems
from mf_models.config_keys.execution import NO_CHOICE, CacheKeys, OperatorKeys, PipelineKeys, RecomputeKeys
from mf_models.config_keys.generation import GenerationKeys
from mf_models.config_keys.loading import AdaptationKeys
from mf_models.config_keys.numerics import FLOAT_TYPES, STORED_TYPE, NormTypeKeys, NumberTypes
from mf_models.config_keys.tokens import TokenKeys
from mf_models.families.chatglm2.published import MODEL_TYPE, read_published
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import IGNORED_IN_HF, read_tokens, tokens_to_hf
from mf_models.model_config import NETWORK_NOT_BUILT, NO_PREFIX

ROTARY_BASE = 10000.0

_NOT_READ = "MindFormers never reads it for this family"
_HF_ALWAYS: Mapping[str, Any] = {
    "attention_dropout": 0.0,
    "partial_rotary_factor": 0.5,
    "rope_scaling": None,
    "tie_word_embeddings": False,
}
"""What config.json files of this family can't have otherwise."""


@component("model", "ChatGLM2Config")
@dataclass(frozen=True, slots=True, kw_only=True)
class ChatGLM2Config(
    AdaptationKeys,
    PipelineKeys,
    CacheKeys,
    OperatorKeys,
    RecomputeKeys,
    GenerationKeys,
    NormTypeKeys,
    TokenKeys,
    HfReadable,
):
    """ChatGLM2, ChatGLM3 and GLM-4."""

    architectures: ClassVar[tuple[str, ...]] = ("ChatGLM2ForConditionalGeneration", "ChatGLM2WithPtuning2")
    pending_architectures: ClassVar[Mapping[str, str]] = {"ChatGLM2WithPtuning2": NETWORK_NOT_BUILT}
    hf_model_types: ClassVar[tuple[str, ...]] = ("glm", MODEL_TYPE)

    seq_length: int = key("Tokens of a training sequence.", 2048, minimum=1, unit="tokens")
    hidden_size: int = key("Width of the residual stream.", 4096, minimum=1)
    num_layers: int = key("Number of blocks.", 28, minimum=1)
    num_attention_heads: int = key("Number of query heads.", 32, minimum=1)
    multi_query_attention: bool = key("Whether query heads share key/value heads.", True)
    multi_query_group_num: int = key("Number of key/value heads where they are shared.", 2, minimum=1)
    kv_channels: int = key("Width of a head.", 128, minimum=1)
    ffn_hidden_size: int = key("Inner width of the feed-forward.", 13696, minimum=1)
    padded_vocab_size: int = key("Rows of the embedding and of the head.", 65024, minimum=1)
    layernorm_epsilon: float = key("Added to the mean square in each norm.", 1e-5, above=0)
    rope_ratio: float = key("Factor of the rotary base 10000, for longer texts.", 1.0, above=0)
    rmsnorm: bool = key(
        "Norms by the root mean square; False also subtracts the mean.", True, pending="other norms are not built yet"
    )
    post_layer_norm: bool = key("A norm after the last block.", True, pending="there always is one")
    apply_residual_connection_post_layernorm: bool = key(
        "Take the residual after the norm instead of before it.", False, pending="it is always taken before"
    )
    add_qkv_bias: bool = key("Bias in the query, key and value projections.", True)
    add_bias_linear: bool = key(
        "Bias in all other projections.", False, pending="biases of these projections are not built yet"
    )
    hidden_dropout: float = key("Dropout after each part of a block, in training.", 0.0, minimum=0, maximum=1)
    attention_dropout: float = key("Dropout of attention weights, in training.", 0.0, minimum=0, maximum=1)
    bias_dropout_fusion: bool = key("Bias and dropout in one operator.", True, inert=NO_CHOICE)
    apply_query_key_layer_scaling: bool = key(
        "Divide queries instead of scores by the root of the head's width.", True, inert="the results are the same"
    )
    attention_softmax_in_fp32: bool = key("Softmax in float32, whatever softmax_compute_type says.", True)
    fp32_residual_connection: bool = key("Residual stream in float32 instead of compute_dtype.", False)
    rotary_dtype: str | None = key(
        "Type of the rotary angles and of the rotation; compute_dtype where not given.", None, allowed=FLOAT_TYPES
    )
    quantization_bit: int = key("Bits of quantised weights; 0 for none.", 0, minimum=0, inert=_NOT_READ)
    pre_seq_len: int | None = key("Learned tokens before each text; None for none.", None, minimum=1, pending=NO_PREFIX)
    prefix_projection: bool = key("Make the learned tokens by a small network.", False, pending=NO_PREFIX)
    gmask_token_id: int | None = key(
        "Token of the gap that the model fills.", None, minimum=0, inert="the tokenizer knows it"
    )

    bos_token_id: int | None = again(TokenKeys, "bos_token_id", None)
    num_blocks: int = again(CacheKeys, "num_blocks", 128)
    max_decode_length: int = again(GenerationKeys, "max_decode_length", 20)
    do_sample: bool = again(GenerationKeys, "do_sample", False)
    top_k: int = again(GenerationKeys, "top_k", 50)

    @property
    def num_heads(self) -> int:
        """Query heads."""
        return self.num_attention_heads

    @property
    def num_labels(self) -> None:
        """Classes: none, the network scores the next token."""

    @property
    def num_kv_heads(self) -> int:
        """Key/value heads."""
        return self.multi_query_group_num if self.multi_query_attention else self.num_attention_heads

    @property
    def vocab_size(self) -> int:
        """Rows of the embedding and of the head."""
        return self.padded_vocab_size

    @property
    def head_dim(self) -> int:
        """Width of one head."""
        return self.kv_channels

    @property
    def inner_size(self) -> int:
        """Inner width of the feed-forward."""
        return self.ffn_hidden_size

    @property
    def qkv_has_bias(self) -> bool:
        """Whether the query, key and value projections have biases."""
        return self.add_qkv_bias

    def number_types(self) -> NumberTypes:
        """See `NormTypeKeys.number_types`."""
        types = NormTypeKeys.number_types(self)
        return replace(
            types,
            residual="float32" if self.fp32_residual_connection else types.residual,
            softmax="float32" if self.attention_softmax_in_fp32 else types.softmax,
            rotary=self.rotary_dtype or types.products,
        )

    @property
    def max_positions(self) -> int:
        """Most tokens of a sequence, prompt and answer together."""
        return self.seq_length

    @property
    def tie_word_embeddings(self) -> bool:
        """Whether the head uses the embedding's weight: never."""
        return False

    @property
    def rotary_dim(self) -> int:
        """Elements of a head that are rotated: half of it."""
        return self.kv_channels // 2

    @property
    def theta(self) -> float:
        """Base of the rotary frequencies."""
        return ROTARY_BASE * self.rope_ratio

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json of the model type glm, which transformers knows by itself, or chatglm.

        See `HfReadable.read_hf`.
        """
        if hf.choice("model_type", cls.hf_model_types, absent="none") == MODEL_TYPE:
            return cls(**read_published(hf))
        hf.require("hidden_act", ("silu",), absent="silu")
        for name, value in _HF_ALWAYS.items():
            hf.require(name, (value,), absent=value)
        hf.ignore(("initializer_range", *IGNORED_IN_HF))
        heads = hf.count("num_attention_heads")
        return cls(
            seq_length=hf.count("max_position_embeddings"),
            hidden_size=hf.count("hidden_size"),
            num_layers=hf.count("num_hidden_layers"),
            num_attention_heads=heads,
            multi_query_group_num=hf.optional_count("num_key_value_heads") or heads,
            kv_channels=hf.optional_count("head_dim") or 128,
            ffn_hidden_size=hf.count("intermediate_size"),
            padded_vocab_size=hf.count("vocab_size"),
            layernorm_epsilon=hf.number("rms_norm_eps", 1.5625e-07),
            rope_ratio=hf.number("rope_theta", ROTARY_BASE) / ROTARY_BASE,
            add_qkv_bias=hf.flag("attention_bias", False),
            **read_tokens(hf),
        )

    def to_hf(self) -> dict[str, Any]:
        """The configuration as Hugging Face tools read it, with the key spellings that all versions know."""
        return {
            **_HF_ALWAYS,
            "architectures": ["GlmForCausalLM"],
            "model_type": "glm",
            **tokens_to_hf(self),
            "attention_bias": self.add_qkv_bias,
            "head_dim": self.kv_channels,
            "hidden_act": "silu",
            "hidden_size": self.hidden_size,
            "intermediate_size": self.ffn_hidden_size,
            "max_position_embeddings": self.seq_length,
            "num_attention_heads": self.num_attention_heads,
            "num_hidden_layers": self.num_layers,
            "num_key_value_heads": self.num_kv_heads,
            "rms_norm_eps": self.layernorm_epsilon,
            "rope_theta": self.theta,
            "torch_dtype": STORED_TYPE,
            "vocab_size": self.padded_vocab_size,
        }

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What does not fit together: key name, what is wrong, what is allowed."""
        if self.num_heads % self.num_kv_heads:
            what = f"{self.num_kv_heads} does not divide num_attention_heads {self.num_heads}"
            yield "multi_query_group_num", what, "a divisor of num_attention_heads"
        if self.kv_channels % 4:
            yield "kv_channels", f"half of {self.kv_channels} can't be rotated", "a multiple of 4"
        yield from dropout_problems(self, ("hidden_dropout", "attention_dropout"))
        yield from self.token_problems(self.vocab_size)
        yield from self.loading_problems()
