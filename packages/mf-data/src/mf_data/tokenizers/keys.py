"""The keys of the tokenizers that MindFormers has: the special tokens, and where the vocabulary lies.

A tokenizer's section says in `read` how its files become a tokenizer; the other ways to open one follow from that.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mf_config.components import type_name
from mf_config.problems import UserError
from mf_config.schema import key
from mf_data.document import Document
from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.sentence_piece import SentencePieceTokenizer
from mf_data.tokenizers.settings import read_bytes, role_tokens

DECODE_ERRORS = ("strict", "ignore", "replace")
"""What Python can do with bytes that are no UTF-8."""

_WHOLE_TEXT = "a text keeps all its ids, and rows have the length that their data set says"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerKeys(ABC):
    """What every tokenizer of MindFormers takes."""

    unk_token: str | None = key("The token for what the vocabulary lacks.", None)
    bos_token: str | None = key("The token that begins a text.", None)
    eos_token: str | None = key("The token that ends a text.", None)
    pad_token: str | None = key("The token that fills up rows.", None)
    additional_special_tokens: tuple[str, ...] = key("Further tokens that steer the model and stand for no text.", ())
    chat_template: str | None = key("The Jinja template that writes a conversation as text.", None)
    model_max_length: int | None = key(
        "The most tokens that the model reads.", None, minimum=1, unit="tokens", inert=_WHOLE_TEXT
    )
    max_length: int | None = key(
        "The most ids of a text.",
        None,
        minimum=1,
        unit="tokens",
        inert=_WHOLE_TEXT,
    )
    padding_side: Literal["left", "right"] | None = key(
        "Where rows are filled up.", None, inert="the loss and the model pass over padding, wherever it stands"
    )
    truncation_side: Literal["left", "right"] | None = key("Where a long text is cut.", None, inert=_WHOLE_TEXT)
    clean_up_tokenization_spaces: bool | None = key(
        "Remove the spaces before punctuation from decoded text.",
        None,
        inert="text of byte pairs would come out altered, so that Hugging Face ignores it for these tokenizers too",
    )
    split_special_tokens: bool = key("Take a special token that is written out in a text as ordinary text.", False)

    @abstractmethod
    def read(self, further: Mapping[str, Any]) -> Tokenizer:
        """Read the tokenizer.

        Args:
            further: settings of a `tokenizer_config.json`, which win over those of the section.
        Raises:
            UserError: a file is not named, missing or broken.
        """

    def open(self, documents: Iterable[Document] | None) -> Tokenizer:
        """Read the tokenizer from its files.

        Args:
            documents: not read.
        Returns:
            The tokenizer.
        Raises:
            UserError: a file is not named, missing or broken.
        """
        return self.read({})

    def settings(self) -> dict[str, Any]:
        """The section as the content of a `tokenizer_config.json`."""
        optional = {
            "chat_template": self.chat_template,
            "model_max_length": self.model_max_length,
            "padding_side": self.padding_side,
            "truncation_side": self.truncation_side,
            "add_bos_token": getattr(self, "add_bos_token", None),
            "add_eos_token": getattr(self, "add_eos_token", None),
        }
        given = {name: value for name, value in optional.items() if value is not None}
        # Families have special tokens of their own beside these, such as gmask_token.
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name.endswith("_token")}
        roles = role_tokens({**own, "unk_token": self.unk_token})
        return {
            # What makes Hugging Face tools read tokenizer.json as it is.
            "tokenizer_class": "PreTrainedTokenizerFast",
            **roles,
            "additional_special_tokens": list(self.additional_special_tokens),
            "split_special_tokens": self.split_special_tokens,
            **given,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class VocabularyFileKeys(TokenizerKeys):
    """A tokenizer whose vocabulary lies in one file."""

    vocab_file: str | None = key("The file of the vocabulary.", None)

    @property
    def vocabulary(self) -> Path:
        """The file of the vocabulary.

        Raises:
            UserError: the section names none.
        """
        return named_file("vocab_file", self.vocab_file)


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeTokenKeys(VocabularyFileKeys):
    """A tokenizer that may put the tokens of beginning and end around each text."""

    add_bos_token: bool = key("Begin each text with bos_token.", False)
    add_eos_token: bool = key("End each text with eos_token.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceKeys(EdgeTokenKeys):
    """A SentencePiece model, `vocab_file`, with the special tokens of Llama."""

    unk_token: str | None = key("The token for what the vocabulary lacks.", "<unk>")
    bos_token: str | None = key("The token that begins a text.", "<s>")
    eos_token: str | None = key("The token that ends a text.", "</s>")
    sp_model_kwargs: dict[str, Any] | None = key(
        "Arguments of the SentencePiece processor.", None, pending="a text always has the same ids", runs=(None, {})
    )

    def read(self, further: Mapping[str, Any]) -> SentencePieceTokenizer:
        """Read the model; see `TokenizerKeys.read`."""
        return read_sentence_piece(self.vocabulary, {**self.settings(), **further})

    def settings(self) -> dict[str, Any]:
        """The section as the content of a `tokenizer_config.json`."""
        return {**EdgeTokenKeys.settings(self), "tokenizer_class": type_name(self)}


def read_sentence_piece(file: Path, settings: Mapping[str, Any]) -> SentencePieceTokenizer:
    """Read a SentencePiece model.

    Args:
        file: the model.
        settings: see `SentencePieceTokenizer`.
    Returns:
        The tokenizer.
    Raises:
        UserError: the file is missing or broken.
    """
    content = read_bytes(file)
    try:
        return SentencePieceTokenizer(content, settings)
    except UserError as error:
        raise UserError(f"{file}: {error}") from error


def named_file(name: str, value: str | None) -> Path:
    """The file that a key names.

    Args:
        name: the key.
        value: its value.
    Returns:
        The path.
    Raises:
        UserError: the key names none.
    """
    if not value:
        raise UserError(f"{name}: no file is named, and none is fetched. Allowed: the path of a file that is there.")
    return Path(value)
