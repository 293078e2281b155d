"""The tokenizer of Llama 3, which CogVLM 2 took over."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mf_config.schema import component, key
from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.byte_pairs import THREE_DIGITS, backend_of_ranks, read_ranks
from mf_data.tokenizers.keys import DECODE_ERRORS, EdgeTokenKeys
from mf_data.tokenizers.tokenizer_json import JsonTokenizer, read_tokenizer_json

_NAMED = (
    *("<|begin_of_text|>", "<|end_of_text|>"),
    *(f"<|reserved_special_token_{i}|>" for i in range(4)),
    *("<|start_header_id|>", "<|end_header_id|>", "<|reserved_special_token_4|>", "<|eot_id|>"),
)
"""The first special tokens; reserved ones follow. Source: the tokenizer that Llama 3 releases."""
_RESERVED_AMONG_NAMED = 5


@component("tokenizer", "Llama3Tokenizer")
@dataclass(frozen=True, slots=True, kw_only=True)
class Llama3Tokenizer(EdgeTokenKeys):
    """A tiktoken vocabulary, tokenizer.model, or the same tokenizer as tokenizer.json."""

    bos_token: str | None = key("The token that begins a text.", "<|begin_of_text|>")
    eos_token: str | None = key("The token that ends a text.", "<|end_of_text|>")
    pad_token: str | None = key("The token that fills up rows.", "<|reserved_special_token_0|>")
    errors: str = key("What becomes of bytes that are no UTF-8 when text is decoded.", "replace", allowed=DECODE_ERRORS)
    num_reserved_special_tokens: int = key(
        "Special tokens behind the vocabulary, those with a name included.", 256, minimum=len(_NAMED)
    )

    def read(self, further: Mapping[str, Any]) -> Tokenizer:
        """Read the vocabulary; see `TokenizerKeys.read`."""
        settings = {**self.settings(), "errors": self.errors, **further}
        if self.vocabulary.suffix == ".json":
            return read_tokenizer_json(self.vocabulary, settings)
        numbers = range(_RESERVED_AMONG_NAMED, self.num_reserved_special_tokens - len(_NAMED) + _RESERVED_AMONG_NAMED)
        special = [*_NAMED, *(f"<|reserved_special_token_{i}|>" for i in numbers)]
        backend = backend_of_ranks(read_ranks(self.vocabulary), THREE_DIGITS, special, nfc=False)
        return JsonTokenizer(backend, settings)


@component("tokenizer", "CogVLM2Tokenizer")
@dataclass(frozen=True, slots=True, kw_only=True)
class CogVLM2Tokenizer(Llama3Tokenizer):
    """The same vocabulary; images and videos have places among the tokens, but no tokens of their own."""
