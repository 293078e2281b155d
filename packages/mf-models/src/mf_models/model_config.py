"""What every family's configuration offers, so that training and inference need no family by name."""

from collections.abc import Iterable
from typing import Any, ClassVar, Protocol, Self


class ModelConfig(Protocol):
    """A frozen configuration, the section `model.model_config` of a run file.

    Attributes:
        architectures: the `model.arch.type` names that the family builds; the first is built.
        hf_model_type: `model_type` in a Hugging Face config.json.
    """

    architectures: ClassVar[tuple[str, ...]]
    hf_model_type: ClassVar[str]

    @property
    def vocab_size(self) -> int:
        """Rows of the embedding and of the head."""

    @property
    def seq_length(self) -> int:
        """Tokens of a training sequence."""

    @property
    def max_positions(self) -> int:
        """Most tokens of a sequence, prompt and answer together."""

    @property
    def bos_token_id(self) -> int:
        """Token before a text."""

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The tokens that end a text."""

    @property
    def pad_token_id(self) -> int:
        """Token that fills short rows."""

    @property
    def tie_word_embeddings(self) -> bool:
        """Whether the head uses the embedding's weight."""

    @property
    def max_decode_length(self) -> int:
        """In generation, most tokens of prompt and answer together."""

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

    def problems(self) -> Iterable[tuple[str, str, str]]:
        """Key name, what is wrong, what is allowed: of what does not fit together."""

    @classmethod
    def from_hf(cls, data: dict[str, Any], where: str = "config.json") -> Self:
        """Read the content of a Hugging Face config.json, refusing what is not understood."""

    def to_hf(self) -> dict[str, Any]:
        """The content of a Hugging Face config.json."""
