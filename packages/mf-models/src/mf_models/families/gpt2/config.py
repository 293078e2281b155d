"""GPT-2 (124M to 52B) with learned positions, for text and for the classification of texts.

Source of the sizes: Radford et al. 2019, Language Models are Unsupervised Multitask Learners, table 2.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.classes import CLASSIFIER, ClassKeys
from mf_models.config_keys.dropout import dropout_problems
from mf_models.config_keys.execution import OperatorKeys, PipelineKeys, RecomputeKeys
from mf_models.config_keys.generation import GenerationKeys
from mf_models.config_keys.loading import AdaptationKeys
from mf_models.config_keys.numerics import STORED_TYPE, NormTypeKeys
from mf_models.config_keys.tokens import TokenKeys
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import IGNORED_IN_HF, network_to_hf, read_classes, tokens_to_hf

_ACTIVATIONS = {"gelu": "gelu_new", "fast_gelu": "quick_gelu", "relu": "relu"}
"""Values of `hidden_act` to Hugging Face's names of the same functions."""

_HF_ACTIVATIONS = {name: own for own, name in _ACTIVATIONS.items()} | {"gelu_pytorch_tanh": "gelu"}

LAYER_NORM_EPSILON = 1e-5
_HF_ALWAYS: Mapping[str, Any] = {
    "add_cross_attention": False,
    "layer_norm_epsilon": LAYER_NORM_EPSILON,
    "reorder_and_upcast_attn": False,
    "scale_attn_by_inverse_layer_idx": False,
    "scale_attn_weights": True,
    "tie_word_embeddings": True,
}
"""What config.json files of this family can't have otherwise."""
_HF_IGNORED = (
    "n_ctx",
    "task_specific_params",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
)
"""Other names of the same, and settings of classifiers."""


@component("model", "GPT2Config")
@dataclass(frozen=True, slots=True, kw_only=True)
class GPT2Config(
    AdaptationKeys,
    PipelineKeys,
    OperatorKeys,
    RecomputeKeys,
    GenerationKeys,
    NormTypeKeys,
    TokenKeys,
    ClassKeys,
    HfReadable,
):
    """GPT-2, for text and for the classification of texts."""

    architectures: ClassVar[tuple[str, ...]] = ("GPT2LMHeadModel", f"GPT2{CLASSIFIER}")
    pending_architectures: ClassVar[Mapping[str, str]] = {}
    hf_model_types: ClassVar[tuple[str, ...]] = ("gpt2",)

    seq_length: int = key("Tokens of a training sequence, and rows of the position table.", 1024, minimum=1)
    hidden_size: int = key("Width of the residual stream.", 768, minimum=1)
    num_layers: int = key("Number of blocks.", 12, minimum=1)
    num_heads: int = key("Number of heads.", 12, minimum=1)
    expand_ratio: int = key("Inner width of the feed-forward in multiples of hidden_size.", 4, minimum=1)
    vocab_size: int = key("Rows of the embedding and of the head.", 50257, minimum=1)
    hidden_act: str = key(
        "Activation of the feed-forward; gelu is the approximation with tanh, fast_gelu that with a sigmoid.",
        "gelu",
        allowed=tuple(_ACTIVATIONS),
    )
    embedding_dropout_prob: float = key("Dropout after the embedding, in training.", 0.1, minimum=0, maximum=1)
    hidden_dropout_rate: float = key("Dropout after each part of a block, in training.", 0.1, minimum=0, maximum=1)
    attention_dropout_rate: float = key("Dropout of attention weights, in training.", 0.1, minimum=0, maximum=1)
    initializer_range: float = key("Standard deviation of new matrices.", 0.02, minimum=0)
    post_layernorm_residual: bool = key(
        "Take the residual after the norm instead of before it.", False, pending="it is always taken before"
    )
    unk_token_id: int | None = key("Token of unknown text.", 50256, minimum=0, inert="the tokenizer knows it")
    max_position_embeddings: int | None = key(
        "Hugging Face's name of the position table's rows.", None, inert="the table has seq_length rows"
    )

    bos_token_id: int | None = again(TokenKeys, "bos_token_id", 50256)
    eos_token_id: int | tuple[int, ...] | None = again(TokenKeys, "eos_token_id", 50256)
    pad_token_id: int | None = again(TokenKeys, "pad_token_id", 50256)
    param_init_type: str = again(NormTypeKeys, "param_init_type", "float32")

    @property
    def num_kv_heads(self) -> int:
        """Key/value heads: one for each query head."""
        return self.num_heads

    @property
    def head_dim(self) -> int:
        """Width of one head."""
        return self.hidden_size // self.num_heads

    @property
    def inner_size(self) -> int:
        """Inner width of the feed-forward."""
        return self.expand_ratio * self.hidden_size

    @property
    def max_positions(self) -> int:
        """Most tokens of a sequence, prompt and answer together."""
        return self.seq_length

    @property
    def tie_word_embeddings(self) -> bool:
        """Whether the head uses the embedding's weight: always."""
        return True

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json. See `HfReadable.read_hf`."""
        hf.require("model_type", cls.hf_model_types, absent="none")
        activation = hf.choice("activation_function", tuple(_HF_ACTIVATIONS), absent="gelu_new")
        for name, value in _HF_ALWAYS.items():
            hf.require(name, (value,), absent=value)
        width = hf.count("n_embd")
        inner = hf.optional_count("n_inner") or 4 * width
        classes = read_classes(hf)
        hf.ignore((*_HF_IGNORED, *IGNORED_IN_HF))
        config = cls(
            seq_length=hf.count("n_positions"),
            hidden_size=width,
            expand_ratio=max(1, inner // width),
            hidden_act=_HF_ACTIVATIONS[activation],
            num_layers=hf.count("n_layer"),
            num_heads=hf.count("n_head"),
            vocab_size=hf.count("vocab_size"),
            initializer_range=hf.number("initializer_range", 0.02),
            embedding_dropout_prob=hf.share("embd_pdrop", 0.1),
            hidden_dropout_rate=hf.share("resid_pdrop", 0.1),
            attention_dropout_rate=hf.share("attn_pdrop", 0.1),
            bos_token_id=hf.token("bos_token_id", 50256),
            eos_token_id=hf.tokens("eos_token_id", 50256),
            pad_token_id=hf.token("pad_token_id", None),
            num_labels=classes,
        )
        if config.inner_size != inner:
            hf.refuse("n_inner", f"{inner} is no multiple of n_embd {width}", "a multiple of it")
        return config

    def to_hf(self) -> dict[str, Any]:
        """The configuration as Hugging Face tools read it, with the key spellings that all versions know."""
        return {
            **_HF_ALWAYS,
            **network_to_hf(self, self.architectures[0]),
            "model_type": "gpt2",
            **tokens_to_hf(self),
            "activation_function": _ACTIVATIONS[self.hidden_act],
            "attn_pdrop": self.attention_dropout_rate,
            "embd_pdrop": self.embedding_dropout_prob,
            "initializer_range": self.initializer_range,
            "n_embd": self.hidden_size,
            "n_head": self.num_heads,
            "n_inner": self.inner_size,
            "n_layer": self.num_layers,
            "n_positions": self.seq_length,
            "resid_pdrop": self.hidden_dropout_rate,
            "torch_dtype": STORED_TYPE,
            "vocab_size": self.vocab_size,
        }

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What does not fit together: key name, what is wrong, what is allowed."""
        if self.hidden_size % self.num_heads:
            what = f"{self.hidden_size} is not divisible by num_heads {self.num_heads}"
            yield "hidden_size", what, "a multiple of it"
        yield from dropout_problems(self, ("embedding_dropout_prob", "hidden_dropout_rate", "attention_dropout_rate"))
        yield from self.token_problems(self.vocab_size)
        yield from self.loading_problems()
        yield from self.class_problems(self.architectures)
