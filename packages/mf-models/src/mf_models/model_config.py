"""What every family's configuration offers, so that training and inference need no family by name."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol, Self

from mf_models.config_keys.numerics import NumberTypes

NETWORK_NOT_BUILT = "its network is not built yet"
"""Why a family or an architecture can be checked but not run."""

NO_PREFIX = "prefixes of learned tokens are not built yet"


class ModelSizes(Protocol):
    """What the section `model.model_config` of every family tells, under these names whatever its keys are called.

    Rules that compare the model with other sections read nothing else. A family whose network is not built yet has
    only these members, and its component says so.

    Attributes:
        architectures: the `model.arch.type` names that go with the family; a program gets the first.
        pending_architectures: those of them that are checked but can't be run, each with the reason; empty where all
            can, and where the component itself is pending.
    """

    architectures: ClassVar[tuple[str, ...]]
    pending_architectures: ClassVar[Mapping[str, str]]

    @property
    def vocab_size(self) -> int:
        """Rows of the embedding and of the head."""

    @property
    def seq_length(self) -> int:
        """Tokens of a training sequence."""

    @property
    def hidden_size(self) -> int:
        """Width of the residual stream."""

    @property
    def num_layers(self) -> int:
        """Blocks that pipeline stages can share, in all parts of the network that are divided."""

    @property
    def num_heads(self) -> int:
        """Query heads of a block."""

    @property
    def num_kv_heads(self) -> int:
        """Key/value heads of a block."""


class ModelConfig(ModelSizes, Protocol):
    """A frozen configuration of a family with a network, the section `model.model_config` of a run file.

    Attributes:
        hf_model_types: the values of `model_type` in a Hugging Face config.json that the family reads.
    """

    hf_model_types: ClassVar[tuple[str, ...]]

    @property
    def max_positions(self) -> int:
        """Most tokens of a sequence, prompt and answer together."""

    @property
    def bos_token_id(self) -> int | None:
        """Token before a text; None for none."""

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The tokens that end a text; empty for none."""

    @property
    def pad_token_id(self) -> int | None:
        """Token that fills short rows; None for none."""

    @property
    def tie_word_embeddings(self) -> bool:
        """Whether the head uses the embedding's weight."""

    @property
    def num_labels(self) -> int | None:
        """Classes that the head scores; None where it scores the next token."""

    @property
    def max_decode_length(self) -> int:
        """In generation, most tokens of prompt and answer together."""

    @property
    def max_length(self) -> int | None:
        """The same, over which it wins; None for that."""

    @property
    def max_new_tokens(self) -> int | None:
        """Most tokens of the answer, over which it wins; None for no limit of its own."""

    @property
    def min_length(self) -> int:
        """Fewest tokens of prompt and answer together."""

    @property
    def min_new_tokens(self) -> int | None:
        """Fewest tokens of the answer."""

    @property
    def num_beams(self) -> int:
        """Candidate answers of beam search; 1 for none."""

    @property
    def do_sample(self) -> bool:
        """Whether generation draws tokens; False takes the likeliest."""

    @property
    def temperature(self) -> float:
        """Divides the logits before drawing."""

    @property
    def top_k(self) -> int:
        """Draw among this many likeliest tokens; 0 for all."""

    @property
    def top_p(self) -> float:
        """Draw among the likeliest tokens that together reach this probability."""

    @property
    def repetition_penalty(self) -> float:
        """Factor against tokens already seen; 1 for none."""

    def number_types(self) -> NumberTypes:
        """The type of each part of the network, where the device has it."""

    def problems(self) -> Iterable[tuple[str, str, str]]:
        """Key name, what is wrong, what is allowed: of what does not fit together."""

    @classmethod
    def from_hf(cls, data: dict[str, Any], where: str = "config.json") -> Self:
        """Read the content of a Hugging Face config.json, refusing what is not understood."""

    def to_hf(self) -> dict[str, Any]:
        """The content of a Hugging Face config.json."""


class DecoderSizes(ModelConfig, Protocol):
    """What the tables of `family_tables` ask of a configuration."""

    @property
    def head_dim(self) -> int:
        """Width of one head."""

    @property
    def inner_size(self) -> int:
        """Inner width of the feed-forward."""

    @property
    def qkv_has_bias(self) -> bool:
        """Whether the query, key and value projections have biases."""
