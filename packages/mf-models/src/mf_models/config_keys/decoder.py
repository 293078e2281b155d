"""All keys of a decoder of the Llama kind: what LlamaConfig and the families derived from it have in common."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from mf_config.schema import key
from mf_models.config_keys.classes import ClassKeys
from mf_models.config_keys.execution import DecoderExecutionKeys
from mf_models.config_keys.generation import GenerationKeys
from mf_models.config_keys.loading import AdaptationKeys
from mf_models.config_keys.numerics import FLOAT_TYPES, NormTypeKeys, NumberTypes
from mf_models.config_keys.rotary import NOT_READ, RotaryKeys, RotaryScaling
from mf_models.config_keys.tokens import TokenKeys

_IN_MOE_CONFIG = "the section moe_config has it"


@dataclass(frozen=True, kw_only=True)
class DecoderSizeKeys:
    """Sizes of the blocks and of the vocabulary."""

    __slots__ = ()

    seq_length: int = key("Tokens of a training sequence.", 2048, minimum=1, unit="tokens")
    hidden_size: int = key("Width of the residual stream.", 4096, minimum=1)
    num_layers: int = key("Number of blocks.", 32, minimum=1)
    num_heads: int = key("Number of query heads.", 32, minimum=1)
    n_kv_heads: int | None = key("Number of key/value heads; num_heads where not given.", None, minimum=1)
    intermediate_size: int | None = key(
        "Inner width of the feed-forward; where not given, 8/3 hidden_size (times ffn_dim_multiplier) rounded up to a "
        "multiple of multiple_of.",
        None,
        minimum=1,
    )
    multiple_of: int = key("What the computed inner width is rounded up to.", 256, minimum=1)
    ffn_dim_multiplier: float | None = key("Factor of the computed inner width.", None, above=0)
    vocab_size: int = key("Rows of the embedding and of the head.", 32000, minimum=1)
    rms_norm_eps: float = key("Added to the mean square in each norm.", 1e-5, above=0)
    max_position_embedding: int | None = key(
        "Most tokens of a sequence; seq_length where not given.", None, minimum=1, unit="tokens"
    )
    tie_word_embeddings: bool = key("Whether the head uses the embedding's weight.", False)
    initializer_range: float = key("Standard deviation of new matrices.", 0.02, minimum=0)


@dataclass(frozen=True, kw_only=True)
class DecoderKeys(
    AdaptationKeys,
    DecoderExecutionKeys,
    GenerationKeys,
    NormTypeKeys,
    TokenKeys,
    RotaryKeys,
    ClassKeys,
    DecoderSizeKeys,
):
    """The keys of all subjects, and what follows from them."""

    __slots__ = ()

    embedding_init_type: str | None = key(
        "Type of the embedding's weight; param_init_type where not given.", None, allowed=FLOAT_TYPES
    )
    qkv_has_bias: bool = key("Bias in the query, key and value projections.", False)
    pre_seq_len: int | None = key(
        "Learned tokens before each text.", None, minimum=1, pending="prefixes of learned tokens are not built yet"
    )
    quant_config: dict[str, Any] | None = key(
        "An older form of quantization_config.", None, pending="write quantization_config instead"
    )
    emb_dropout_prob: float = key("Dropout after the embedding.", 0.0, minimum=0, maximum=1, inert=NOT_READ)
    hidden_dropout: float = key("Dropout after each part of a block.", 0.0, minimum=0, maximum=1, inert=NOT_READ)
    attention_dropout: float = key("Dropout of attention weights.", 0.0, minimum=0, maximum=1, inert=NOT_READ)
    kv_channels: int | None = key("Width of a head.", None, inert=f"{NOT_READ}: it is hidden_size / num_heads")
    max_position_embeddings: int | None = key(
        "Hugging Face's name of max_position_embedding.", None, inert=f"{NOT_READ}; write max_position_embedding"
    )
    router_dense_type: str | None = key(
        "Type of the product that chooses experts.", None, allowed=FLOAT_TYPES, inert=_IN_MOE_CONFIG
    )

    @property
    def num_kv_heads(self) -> int:
        """Key/value heads, with the default filled in."""
        return self.n_kv_heads or self.num_heads

    @property
    def head_dim(self) -> int:
        """Width of one head."""
        return self.hidden_size // self.num_heads

    @property
    def inner_size(self) -> int:
        """Inner width of the feed-forward, given or computed.

        Source: Touvron et al. 2023, LLaMA, section 2.2 (2/3 of 4 hidden_size), and the rounding of its published code.
        """
        if self.intermediate_size is not None:
            return self.intermediate_size
        width = 4 * self.hidden_size
        if self.ffn_dim_multiplier is not None:
            # MindFormers adds 0.01 before it truncates, so the widths of its checkpoints depend on it.
            width = int((self.ffn_dim_multiplier + 0.01) * width)
        width = int(2 * width / 3)
        return -(-width // self.multiple_of) * self.multiple_of

    @property
    def max_positions(self) -> int:
        """Most tokens of a sequence, prompt and answer together."""
        return self.max_position_embedding or self.seq_length

    def number_types(self) -> NumberTypes:
        """See `NormTypeKeys.number_types`."""
        types = NormTypeKeys.number_types(self)
        return replace(types, embedding=self.embedding_init_type or types.weights, rotary=self.rotary_dtype)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What does not fit together: key name, what is wrong, what is allowed."""
        yield from self.head_problems()
        if self.max_positions < self.seq_length:
            what = f"{self.max_positions} is less than seq_length {self.seq_length}"
            yield "max_position_embedding", what, f"from {self.seq_length}"
        yield from self.token_problems(self.vocab_size)
        yield from self.loading_problems()
        yield from self.class_problems(getattr(self, "architectures", ()))
        yield from self.rotary_problems()
        if isinstance(self.scaling_factor, RotaryScaling):
            yield from self.scaling_factor.mismatched_lengths(self.head_dim // 2)

    def head_problems(self) -> Iterator[tuple[str, str, str]]:
        """Heads that are not of one even width, or that can't be grouped."""
        if self.hidden_size % self.num_heads:
            what = f"{self.hidden_size} is not divisible by num_heads {self.num_heads}"
            yield "hidden_size", what, "a multiple of it"
        elif self.head_dim % 2:
            yield "hidden_size", f"makes heads of odd width {self.head_dim}, which can't be rotated", "an even width"
        if self.num_heads % self.num_kv_heads:
            what = f"{self.num_kv_heads} does not divide num_heads {self.num_heads}"
            yield "n_kv_heads", what, "a divisor of num_heads"
