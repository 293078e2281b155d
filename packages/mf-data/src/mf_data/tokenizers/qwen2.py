"""The tokenizer of Qwen 1.5 and Qwen 2."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mf_config.schema import component, key
from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.byte_pairs import SINGLE_DIGITS, read_vocabulary_and_merges
from mf_data.tokenizers.keys import DECODE_ERRORS, VocabularyFileKeys, named_file
from mf_data.tokenizers.tokenizer_json import JsonTokenizer

_CHAT_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


@component("tokenizer", "Qwen2Tokenizer")
@dataclass(frozen=True, slots=True, kw_only=True)
class Qwen2Tokenizer(VocabularyFileKeys):
    """Byte-level BPE from vocab.json and merges.txt."""

    merges_file: str | None = key("The file of the merges, merges.txt.", None)
    unk_token: str | None = key("The token for what the vocabulary lacks.", "<|endoftext|>")
    eos_token: str | None = key("The token that ends a text.", "<|endoftext|>")
    pad_token: str | None = key("The token that fills up rows.", "<|endoftext|>")
    errors: str = key("What becomes of bytes that are no UTF-8 when text is decoded.", "replace", allowed=DECODE_ERRORS)
    add_prefix_space: bool = key(
        "Put a space before a text that has none.", False, inert="the vocabulary was not made for it"
    )

    def read(self, further: Mapping[str, Any]) -> Tokenizer:
        """Read both files; see `TokenizerKeys.read`."""
        merges = named_file("merges_file", self.merges_file)
        backend = read_vocabulary_and_merges(self.vocabulary, merges, SINGLE_DIGITS, nfc=True)
        backend.add_special_tokens(list(_CHAT_TOKENS))
        return JsonTokenizer(backend, {**self.settings(), "errors": self.errors, **further})
