"""GPT-2 (124M to 52B) with learned positions, for text and for the classification of texts.

Source of the sizes: Radford et al. 2019, Language Models are Unsupervised Multitask Learners, table 2.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.execution import OperatorKeys, PipelineKeys, RecomputeKeys
from mf_models.config_keys.generation import GenerationKeys
from mf_models.config_keys.loading import AdaptationKeys
from mf_models.config_keys.numerics import NormTypeKeys, PrecisionKeys
from mf_models.config_keys.tokens import TokenKeys
from mf_models.model_config import NETWORK_NOT_BUILT

_ACTIVATIONS = (
    "gelu",
    "fast_gelu",
    "relu",
    "relu6",
    "tanh",
    "elu",
    "sigmoid",
    "prelu",
    "leakyrelu",
    "hswish",
    "hsigmoid",
    "logsigmoid",
)


@component("model", "GPT2Config", pending=NETWORK_NOT_BUILT)
@dataclass(frozen=True, slots=True, kw_only=True)
class GPT2Config(
    AdaptationKeys, PipelineKeys, OperatorKeys, RecomputeKeys, GenerationKeys, NormTypeKeys, PrecisionKeys, TokenKeys
):
    """GPT-2, for text and for the classification of texts."""

    architectures: ClassVar[tuple[str, ...]] = ("GPT2LMHeadModel", "GPT2ForSequenceClassification")
    pending_architectures: ClassVar[Mapping[str, str]] = {}

    seq_length: int = key("Tokens of a training sequence, and rows of the position table.", 1024, minimum=1)
    hidden_size: int = key("Width of the residual stream.", 768, minimum=1)
    num_layers: int = key("Number of blocks.", 12, minimum=1)
    num_heads: int = key("Number of heads.", 12, minimum=1)
    expand_ratio: int = key("Inner width of the feed-forward in multiples of hidden_size.", 4, minimum=1)
    vocab_size: int = key("Rows of the embedding and of the head.", 50257, minimum=1)
    hidden_act: str = key("Activation of the feed-forward.", "gelu", allowed=_ACTIVATIONS)
    num_labels: int = key("Classes of GPT2ForSequenceClassification.", 2, minimum=1)
    embedding_dropout_prob: float = key("Dropout after the embedding.", 0.1, minimum=0, maximum=1)
    hidden_dropout_rate: float = key("Dropout after each part of a block.", 0.1, minimum=0, maximum=1)
    attention_dropout_rate: float = key("Dropout of attention weights.", 0.1, minimum=0, maximum=1)
    initializer_range: float = key("Standard deviation of new matrices.", 0.02, minimum=0)
    post_layernorm_residual: bool = key("Take the residual after the norm instead of before it.", False)
    unk_token_id: int | None = key("Token of unknown text.", 50256, minimum=0, inert="the tokenizer knows it")
    max_position_embeddings: int | None = key(
        "Hugging Face's name of the position table's rows.", None, inert="the table has seq_length rows"
    )

    bos_token_id: int | None = again(TokenKeys, "bos_token_id", 50256)
    eos_token_id: int | tuple[int, ...] | None = again(TokenKeys, "eos_token_id", 50256)
    pad_token_id: int | None = again(TokenKeys, "pad_token_id", 50256)
    param_init_type: str = again(PrecisionKeys, "param_init_type", "float32")

    @property
    def num_kv_heads(self) -> int:
        """Key/value heads: one for each query head."""
        return self.num_heads

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What does not fit together: key name, what is wrong, what is allowed."""
        if self.hidden_size % self.num_heads:
            what = f"{self.hidden_size} is not divisible by num_heads {self.num_heads}"
            yield "hidden_size", what, "a multiple of it"
        yield from self.token_problems(self.vocab_size)
