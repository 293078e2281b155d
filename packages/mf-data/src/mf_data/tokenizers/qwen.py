"""The tokenizers of the first Qwen and of Qwen-VL."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mf_config.schema import component, key
from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.byte_pairs import SINGLE_DIGITS, backend_of_ranks, read_ranks
from mf_data.tokenizers.keys import DECODE_ERRORS, VocabularyFileKeys
from mf_data.tokenizers.tokenizer_json import JsonTokenizer

_END = "<|endoftext|>"
_SPECIAL_TOKENS = (_END, "<|im_start|>", "<|im_end|>", *(f"<|extra_{i}|>" for i in range(205)))
"""Source: the tokenizer that Qwen releases."""


@component("tokenizer", "QwenTokenizer", "QWenTokenizer")
@dataclass(frozen=True, slots=True, kw_only=True)
class QwenTokenizer(VocabularyFileKeys):
    """A tiktoken vocabulary, qwen.tiktoken."""

    vocab_file: str | None = key("The file of the vocabulary.", "qwen.tiktoken")
    pad_token: str | None = key("The token that fills up rows.", "<|endoftext|>")
    errors: str = key("What becomes of bytes that are no UTF-8 when text is decoded.", "replace", allowed=DECODE_ERRORS)

    def read(self, further: Mapping[str, Any]) -> Tokenizer:
        """Read the vocabulary; see `TokenizerKeys.read`."""
        backend = backend_of_ranks(read_ranks(self.vocabulary), SINGLE_DIGITS, _SPECIAL_TOKENS, nfc=True)
        return JsonTokenizer(backend, {**self.settings(), "errors": self.errors, **further})

    def settings(self) -> dict[str, Any]:
        """The section as the content of a `tokenizer_config.json`; a text ends with the vocabulary's own token."""
        return {"eos_token": _END, **VocabularyFileKeys.settings(self)}


@component("tokenizer", "QwenVLTokenizer", pending="images are not read")
@dataclass(frozen=True, slots=True, kw_only=True)
class QwenVLTokenizer(QwenTokenizer):
    """The same vocabulary with tokens for images and places in them."""

    image_start_tag: str = key("The token that begins an image.", "<img>")
    image_end_tag: str = key("The token that ends an image.", "</img>")
    image_pad_tag: str = key("The token that holds the place of an image.", "<imgpad>")
    ref_start_tag: str = key("The token that begins the name of a thing.", "<ref>")
    ref_end_tag: str = key("The token that ends the name of a thing.", "</ref>")
    box_start_tag: str = key("The token that begins a box.", "<box>")
    box_end_tag: str = key("The token that ends a box.", "</box>")
    quad_start_tag: str = key("The token that begins a quadrangle.", "<quad>")
    quad_end_tag: str = key("The token that ends a quadrangle.", "</quad>")
