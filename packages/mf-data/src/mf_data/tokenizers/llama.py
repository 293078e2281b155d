"""The tokenizers of Llama and Llama 2."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mf_config.schema import component, key
from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.keys import EdgeTokenKeys, SentencePieceKeys, named_file, read_sentence_piece
from mf_data.tokenizers.tokenizer_json import read_tokenizer_json


@component("tokenizer", "LlamaTokenizer")
@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaTokenizer(SentencePieceKeys):
    """A SentencePiece model, tokenizer.model."""

    pad_token: str | None = key("The token that fills up rows.", "<unk>")
    add_bos_token: bool = key("Begin each text with bos_token.", True)
    legacy: bool = key(
        "Put a space before the text behind a special token, as the first version of this tokenizer did.", True
    )

    def settings(self) -> dict[str, Any]:
        """The section as the content of a `tokenizer_config.json`."""
        return {**SentencePieceKeys.settings(self), "legacy": self.legacy}


@component("tokenizer", "LlamaTokenizerFast")
@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaTokenizerFast(EdgeTokenKeys):
    """The same tokenizer as one file, tokenizer.json; also those of models that took over its form."""

    tokenizer_file: str | None = key(
        "The tokenizer.json to read; vocab_file, a SentencePiece model, where absent.", None
    )
    unk_token: str | None = key("The token for what the vocabulary lacks.", "<unk>")
    bos_token: str | None = key("The token that begins a text.", "<s>")
    eos_token: str | None = key("The token that ends a text.", "</s>")
    add_bos_token: bool = key("Begin each text with bos_token.", True)
    use_default_system_prompt: bool = key(
        "Begin a conversation without system message with Llama 2's own.",
        False,
        inert="the chat template says how a conversation begins",
    )

    def read(self, further: Mapping[str, Any]) -> Tokenizer:
        """Read the file; see `TokenizerKeys.read`."""
        settings = {**self.settings(), **further}
        if self.vocab_file and not self.tokenizer_file:
            return read_sentence_piece(self.vocabulary, settings)
        return read_tokenizer_json(named_file("tokenizer_file", self.tokenizer_file), settings)
