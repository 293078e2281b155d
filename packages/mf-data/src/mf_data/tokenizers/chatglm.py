"""The tokenizers of GLM 2, 3 and 4."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mf_config.components import type_name
from mf_config.schema import component, key
from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.byte_pairs import THREE_DIGITS, backend_of_ranks, read_ranks
from mf_data.tokenizers.keys import VocabularyFileKeys, read_sentence_piece
from mf_data.tokenizers.tokenizer_json import JsonTokenizer, put_around

_COMMANDS = ("[MASK]", "[gMASK]", "[sMASK]", "sop", "eop")
_ROLES = ("<|system|>", "<|user|>", "<|assistant|>", "<|observation|>")
_MEDIA = ("<|begin_of_image|>", "<|end_of_image|>", "<|begin_of_video|>", "<|end_of_video|>")
"""The special tokens behind the vocabulary, in the order of their ids. Source: the tokenizers that GLM releases."""

_BY_THE_MODEL = "the vocabulary's own token is taken"


@component("tokenizer", "ChatGLM2Tokenizer")
@dataclass(frozen=True, slots=True, kw_only=True)
class ChatGLM2Tokenizer(VocabularyFileKeys):
    """A SentencePiece model, tokenizer.model; each text begins with [gMASK] and sop."""

    unk_token: str | None = key("The token for what the vocabulary lacks.", "<unk>", inert=_BY_THE_MODEL)
    bos_token: str | None = key("The token that begins a text.", "<sop>", inert=_BY_THE_MODEL)
    eos_token: str | None = key("The token that ends a text.", "<eop>", inert=_BY_THE_MODEL)
    pad_token: str | None = key("The token that fills up rows.", "<pad>", inert=_BY_THE_MODEL)
    end_token: str | None = key("The token that ends a session.", "</s>", inert=_BY_THE_MODEL)
    mask_token: str | None = key("The token for a hidden word.", "[MASK]", inert=_BY_THE_MODEL)
    gmask_token: str | None = key("The token for a hidden rest of the text.", "[gMASK]", inert=_BY_THE_MODEL)
    split_special_tokens: bool = key("Take a special token that is written out in a text as ordinary text.", True)

    def read(self, further: Mapping[str, Any]) -> Tokenizer:
        """Read the model; see `TokenizerKeys.read`."""
        return read_sentence_piece(self.vocabulary, {**self.settings(), **further})

    def settings(self) -> dict[str, Any]:
        """The section as the content of a `tokenizer_config.json`."""
        roles = {"bos_token": "sop", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<unk>"}
        commands = [*_COMMANDS, *self._role_tokens()]
        own = {
            "tokenizer_class": type_name(self),
            "prefix_tokens": ["[gMASK]", "sop"],
            "command_tokens": commands,
            "mask_token": "[MASK]",
        }
        return {**VocabularyFileKeys.settings(self), **roles, **own}

    def _role_tokens(self) -> tuple[str, ...]:
        return ()


@component("tokenizer", "ChatGLM3Tokenizer", "ChatGLMTokenizer")
@dataclass(frozen=True, slots=True, kw_only=True)
class ChatGLM3Tokenizer(ChatGLM2Tokenizer):
    """The same kind, with the tokens of roles and tools of GLM 3."""

    def _role_tokens(self) -> tuple[str, ...]:
        return _ROLES


@component("tokenizer", "ChatGLM4Tokenizer")
@dataclass(frozen=True, slots=True, kw_only=True)
class ChatGLM4Tokenizer(VocabularyFileKeys):
    """A tiktoken vocabulary, tokenizer.model; each text begins with [gMASK] and <sop>."""

    eos_token: str | None = key("The token that ends a text.", "<|endoftext|>")
    pad_token: str | None = key("The token that fills up rows.", "<|endoftext|>")
    encode_special_tokens: bool = key("Take a special token that is written out in a text as ordinary text.", False)

    def read(self, further: Mapping[str, Any]) -> Tokenizer:
        """Read the vocabulary; see `TokenizerKeys.read`."""
        settings = {**self.settings(), **further}
        special = ("<|endoftext|>", "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>", *_ROLES, *_MEDIA)
        backend = backend_of_ranks(read_ranks(self.vocabulary), THREE_DIGITS, special, nfc=False)
        put_around(backend, ["[gMASK]", "<sop>"], [], settings)
        return JsonTokenizer(backend, settings)

    def settings(self) -> dict[str, Any]:
        """The section as the content of a `tokenizer_config.json`."""
        splits = self.split_special_tokens or self.encode_special_tokens
        return {**VocabularyFileKeys.settings(self), "split_special_tokens": splits}
