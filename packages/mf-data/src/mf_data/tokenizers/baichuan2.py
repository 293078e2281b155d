"""The tokenizer of Baichuan 2."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_data.tokenizers.keys import SentencePieceKeys


@component("tokenizer", "Baichuan2Tokenizer", "BaichuanTokenizer")
@dataclass(frozen=True, slots=True, kw_only=True)
class Baichuan2Tokenizer(SentencePieceKeys):
    """A SentencePiece model, tokenizer.model."""

    pad_token: str | None = key("The token that fills up rows.", "<unk>")
