"""The names of `mf_data.tokenizers.loading` that stood here before there were tokenizers of other kinds."""

from mf_data.tokenizers.loading import load_tokenizer
from mf_data.tokenizers.tokenizer_json import TOKENIZER_FILE

__all__ = ["TOKENIZER_FILE", "load_tokenizer"]
