"""The tokenizers of InternLM and InternLM 2."""

from dataclasses import asdict, dataclass
from typing import Any

from mf_config.schema import component, key
from mf_data.tokenizers.keys import SentencePieceKeys
from mf_data.tokenizers.settings import AddedToken

_CHAT_IDS = {
    "<|plugin|>": 92538,
    "<|interpreter|>": 92539,
    "<|action_end|>": 92540,
    "<|action_start|>": 92541,
    "<|im_end|>": 92542,
    "<|im_start|>": 92543,
}
"""The tokens of conversations in InternLM 2: its model holds them under other names. Source: the tokenizer that
InternLM 2 releases, added_tokens_decoder."""

_CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@component("tokenizer", "InternLMTokenizer")
@dataclass(frozen=True, slots=True, kw_only=True)
class InternLMTokenizer(SentencePieceKeys):
    """A SentencePiece model, tokenizer.model."""

    pad_token: str | None = key("The token that fills up rows.", "</s>")
    add_bos_token: bool = key("Begin each text with bos_token.", True)
    decode_with_prefix_space: bool = key("Keep the space that begins decoded text.", False)

    def settings(self) -> dict[str, Any]:
        """The section as the content of a `tokenizer_config.json`."""
        return {**SentencePieceKeys.settings(self), "decode_with_prefix_space": self.decode_with_prefix_space}


@component("tokenizer", "InternLM2Tokenizer")
@dataclass(frozen=True, slots=True, kw_only=True)
class InternLM2Tokenizer(InternLMTokenizer):
    """The same kind, with the tokens and the chat template of InternLM 2."""

    def settings(self) -> dict[str, Any]:
        """The section as the content of a `tokenizer_config.json`."""
        added = {str(token_id): asdict(AddedToken(text)) for text, token_id in _CHAT_IDS.items()}
        own = {"added_tokens_decoder": added, "chat_template": self.chat_template or _CHAT_TEMPLATE}
        return {**InternLMTokenizer.settings(self), **own}
