"""What a `tokenizer.json` says about turning its tokens into text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mf_config.problems import UserError, name_values
from mf_data.tokenizers.byte_table import unspell
from mf_data.tokenizers.pieces import InvalidBytes

_BYTE_TOKEN = re.compile("<0x([0-9A-Fa-f]{2})>")


@dataclass(frozen=True, slots=True)
class DecodingRule:
    """How the bytes of a token follow from its spelling.

    Attributes:
        byte_level: tokens are spelt in the byte table of GPT-2.
        byte_fallback: a token such as `<0x0A>` is one byte.
        replacements: what is replaced in every other token, (old, new).
        drops_first_space: a text's first character is left out where it is a space.
    """

    byte_level: bool = False
    byte_fallback: bool = False
    replacements: tuple[tuple[str, str], ...] = ()
    drops_first_space: bool = False

    @property
    def invalid_bytes(self) -> InvalidBytes:
        """What becomes of bytes that are no UTF-8."""
        return "replace_each" if self.byte_fallback else "replace"

    def bytes_of(self, token: str) -> bytes:
        """The bytes behind a token."""
        if self.byte_level:
            return unspell(token)
        byte = _BYTE_TOKEN.fullmatch(token) if self.byte_fallback else None
        if byte:
            return bytes.fromhex(byte[1])
        for old, new in self.replacements:
            token = token.replace(old, new)
        return token.encode()


def decoding_rule(definition: Mapping[str, Any] | None) -> DecodingRule:
    """Read the `decoder` of a `tokenizer.json`.

    Raises:
        UserError: it is missing, or of a kind whose text does not follow token by token.
    """
    rule = DecodingRule()
    parts = definition.get("decoders", [definition]) if definition else [{"type": "no"}]
    for part in parts:
        kind = part["type"]
        step = _STEPS.get(kind)
        if step is None:
            raise UserError(f"the tokenizer has {kind} decoder. Allowed: {name_values(_STEPS)}, or a sequence of them.")
        rule = step(rule, part)
    return rule


def _byte_level(rule: DecodingRule, _: Mapping[str, Any]) -> DecodingRule:
    return replace(rule, byte_level=True)


def _byte_fallback(rule: DecodingRule, _: Mapping[str, Any]) -> DecodingRule:
    return replace(rule, byte_fallback=True)


def _fuse(rule: DecodingRule, _: Mapping[str, Any]) -> DecodingRule:
    return rule


def _replace(rule: DecodingRule, part: Mapping[str, Any]) -> DecodingRule:
    if "String" not in part["pattern"]:
        raise UserError("the tokenizer has a decoder that replaces a regular expression. Allowed: plain text.")
    return replace(rule, replacements=(*rule.replacements, (part["pattern"]["String"], part["content"])))


def _metaspace(rule: DecodingRule, part: Mapping[str, Any]) -> DecodingRule:
    prefixed = part.get("prepend_scheme", "always") != "never"
    return replace(rule, replacements=(*rule.replacements, (part["replacement"], " ")), drops_first_space=prefixed)


def _strip(rule: DecodingRule, part: Mapping[str, Any]) -> DecodingRule:
    if (part["content"], part["start"], part["stop"]) != (" ", 1, 0):
        raise UserError("the tokenizer has a decoder that strips more than a text's first space.")
    return replace(rule, drops_first_space=True)


_STEPS = {
    "ByteLevel": _byte_level,
    "ByteFallback": _byte_fallback,
    "Fuse": _fuse,
    "Metaspace": _metaspace,
    "Replace": _replace,
    "Strip": _strip,
}
