"""ChatGLM2, ChatGLM3 and GLM-4 (6B, 9B): half-rotated heads, few key/value groups, biased query, key and value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.execution import NO_CHOICE, CacheKeys, OperatorKeys, PipelineKeys, RecomputeKeys
from mf_models.config_keys.generation import GenerationKeys
from mf_models.config_keys.loading import AdaptationKeys
from mf_models.config_keys.numerics import FLOAT32_ALWAYS, FLOAT_TYPES, NormTypeKeys, PrecisionKeys
from mf_models.config_keys.tokens import TokenKeys
from mf_models.model_config import NETWORK_NOT_BUILT

_NOT_READ = "MindFormers never reads it for this family"


@component("model", "ChatGLM2Config", pending=NETWORK_NOT_BUILT)
@dataclass(frozen=True, slots=True, kw_only=True)
class ChatGLM2Config(
    AdaptationKeys,
    PipelineKeys,
    CacheKeys,
    OperatorKeys,
    RecomputeKeys,
    GenerationKeys,
    NormTypeKeys,
    PrecisionKeys,
    TokenKeys,
):
    """ChatGLM2, ChatGLM3 and GLM-4."""

    architectures: ClassVar[tuple[str, ...]] = ("ChatGLM2ForConditionalGeneration", "ChatGLM2WithPtuning2")
    pending_architectures: ClassVar[Mapping[str, str]] = {}

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
    rmsnorm: bool = key("Norms by the root mean square; False also subtracts the mean.", True)
    post_layer_norm: bool = key("A norm after the last block.", True)
    apply_residual_connection_post_layernorm: bool = key(
        "Take the residual after the norm instead of before it.", False
    )
    add_qkv_bias: bool = key("Bias in the query, key and value projections.", True)
    add_bias_linear: bool = key("Bias in all other projections.", False)
    hidden_dropout: float = key("Dropout after each part of a block.", 0.0, minimum=0, maximum=1)
    attention_dropout: float = key("Dropout of attention weights.", 0.0, minimum=0, maximum=1)
    bias_dropout_fusion: bool = key("Bias and dropout in one operator.", True, inert=NO_CHOICE)
    apply_query_key_layer_scaling: bool = key(
        "Divide queries instead of scores by the root of the head's width.", True, inert="the results are the same"
    )
    attention_softmax_in_fp32: bool = key("Softmax in float32.", True, inert=FLOAT32_ALWAYS)
    fp32_residual_connection: bool = key("Residual stream in float32.", False, inert=FLOAT32_ALWAYS)
    rotary_dtype: str | None = key("Type of the rotary angles.", None, allowed=FLOAT_TYPES, inert=FLOAT32_ALWAYS)
    quantization_bit: int = key("Bits of quantised weights; 0 for none.", 0, minimum=0, inert=_NOT_READ)
    pre_seq_len: int | None = key("Learned tokens before each text; None for none.", None, minimum=1)
    prefix_projection: bool = key("Make the learned tokens by a small network.", False)
    gmask_token_id: int | None = key("Token of the gap that the model fills.", None, minimum=0)

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
    def num_kv_heads(self) -> int:
        """Key/value heads."""
        return self.multi_query_group_num if self.multi_query_attention else self.num_attention_heads

    @property
    def vocab_size(self) -> int:
        """Rows of the embedding and of the head."""
        return self.padded_vocab_size

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What does not fit together: key name, what is wrong, what is allowed."""
        if self.num_heads % self.num_kv_heads:
            what = f"{self.num_kv_heads} does not divide num_attention_heads {self.num_heads}"
            yield "multi_query_group_num", what, "a divisor of num_attention_heads"
        yield from self.token_problems(self.vocab_size)
